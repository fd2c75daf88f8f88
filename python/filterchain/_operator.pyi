# SPDX-License-Identifier: MIT
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, TypeVar, Union, overload

_F = TypeVar("_F", bound=Callable[..., Any])
_Halo = Union[int, Dict[str, Union[int, Tuple[int, int]]]]

@overload
def operator(function: _F) -> _F: ...
@overload
def operator(function: None = ..., *, halo: _Halo = ..., border: str = ..., kinds: Sequence[str] = ...,
             name: Optional[str] = ...) -> Callable[[_F], _F]: ...
