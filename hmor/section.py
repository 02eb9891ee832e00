"""What every section of a study has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A section of a study; a key it does not know is a problem."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=True)
