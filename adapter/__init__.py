"""fresh-metrics-adapter: metrics for the HorizontalPodAutoscaler that are true and young, or withheld with a reason."""

__version__ = "0.1.0"
