"""The compiled part; railyard/__init__.py is what programs use."""
from typing import Any, Callable, Optional

__version__: str

class ConfigError(ValueError): ...
class InternalError(RuntimeError): ...

class Result:
    @property
    def json(self) -> str: ...
    @property
    def table(self) -> str: ...

class Scenario:
    def __init__(self, path: str, changes: list[tuple[str, str]], seed: Optional[int]) -> None: ...
    name: str
    seed: int
    policies: list[str]
    baseline: str
    summary: list[str]
    def run(self, jobs: int, progress: Optional[Callable[[int, str, float, int, int], Any]]) -> Result: ...

class Point:
    values: list[str]
    seed: int

class Sweep:
    def __init__(self, path: str, changes: list[tuple[str, str]], seed: Optional[int]) -> None: ...
    name: str
    axes: list[str]
    points: list[Point]
    def run(self, jobs: int, progress: Optional[Callable[[int, str, float, int, int], Any]]) -> list[Result]: ...

def register_scheduler(name: str, make: Callable[[], Any]) -> None: ...
