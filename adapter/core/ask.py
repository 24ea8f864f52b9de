"""What a request asks for, once its path and selectors are parsed."""

from dataclasses import dataclass

from adapter.core.selectors import Selector


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for values. name: "*" for all that `selector` matches; namespace: "" for cluster-scoped objects."""

    resource: str
    namespace: str
    name: str
    metric: str
    selector: Selector
    metric_selector: Selector
