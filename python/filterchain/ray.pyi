# SPDX-License-Identifier: MIT
from os import PathLike
from typing import Any, Iterable, Optional, Sequence, Union

from ._chain import Op

_Path = Union[str, "PathLike[str]"]

class Chain:
    def __init__(self, *stages: Union[str, Op], column: str = ..., to: str = ..., key: Optional[str] = ..., on_error: str = ..., device: str = ...,
                 layout: Optional[str] = ..., rate: Optional[float] = ..., dtype: Any = ..., **options: Any) -> None: ...
    def __call__(self, batch: Any) -> Any: ...

class Files:
    def __init__(self, *stages: Union[str, Op], resume: bool = ..., on_error: str = ..., device: str = ..., **options: Any) -> None: ...
    def __call__(self, batch: Any) -> Any: ...

def images(paths: Iterable[_Path], stages: Union[str, Op, Sequence[Union[str, Op]]], out: _Path, *, concurrency: int = ..., num_gpus: float = ...,
           **options: Any) -> Any: ...
