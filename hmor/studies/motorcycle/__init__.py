"""The motorcycle study: from the full-order brakes to a reduced hybrid model in real time, and a report of it all."""
