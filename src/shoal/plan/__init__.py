"""What is asked for: the plan, as an object, as a TOML file, as a command line."""

from shoal.plan.keywords import explicit
from shoal.plan.model import Plan, plan_among

__all__ = ["Plan", "explicit", "plan_among"]
