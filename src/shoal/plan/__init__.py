"""What is asked for: the plan, as an object, as a TOML file, as a command line."""

from shoal.plan.fields import PlanFields
from shoal.plan.keywords import explicit
from shoal.plan.model import Plan

__all__ = ["Plan", "PlanFields", "explicit"]
