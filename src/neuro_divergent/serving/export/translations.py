"""ONNX operators for torch operators that the exporter unrolls or refuses, or that runtimes have in 32 bits only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import torch

from neuro_divergent.serving.dependency import load_package

# Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution", Applied Statistics 1988: numerator and
# denominator from the highest power on, in the middle, in the tails, and far out in them.
_MIDDLE = (
    "2509.0809287301227 33430.57558358813 67265.7709270087 45921.95393154987 "
    "13731.69376550946 1971.5909503065513 133.14166789178438 3.3871328727963665",
    "5226.495278852546 28729.085735721943 39307.89580009271 21213.794301586597 "
    "5394.196021424751 687.1870074920579 42.31333070160091 1.0",
)
_TAIL = (
    "0.0007745450142783414 0.022723844989269184 0.2417807251774506 1.2704582524523684 "
    "3.6478483247632045 5.769497221460691 4.630337846156546 1.4234371107496835",
    "1.0507500716444169e-09 0.0005475938084995345 0.015198666563616457 0.14810397642748008 "
    "0.6897673349851 1.6763848301838038 2.053191626637759 1.0",
)
_FAR = (
    "2.0103343992922881e-07 2.7115555687434876e-05 0.0012426609473880784 0.026532189526576124 "
    "0.29656057182850487 1.7848265399172913 5.463784911164114 6.657904643501103",
    "2.0442631033899397e-15 1.421511758316446e-07 1.8463183175100548e-05 0.0007868691311456133 "
    "0.014875361290850615 0.1369298809227358 0.599832206555888 1.0",
)


def translations() -> dict[Any, Callable[..., Any]]:
    """Return the function that writes the ONNX operators of each torch operator."""
    aten = torch.ops.aten
    return {
        aten.rnn_tanh.input: _rnn_tanh,
        aten.erfinv.default: _erfinv,
        aten.softplus.default: _softplus,
        aten.square.default: _square,
        aten.pow.Tensor_Scalar: _power,
    }


def _rnn_tanh(
    values: Any,
    state: Any,
    params: Sequence[Any],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    """Write one ``RNN`` node per layer instead of one set of nodes per step."""
    assert (has_biases, train, bidirectional, batch_first) == (True, False, False, False), "as our layers are"
    op = _operators()
    states = []
    for layer in range(num_layers):
        weight, recurrent, bias, recurrent_bias = params[4 * layer : 4 * layer + 4]
        output, last = op.RNN(
            values,
            op.Unsqueeze(weight, [0]),
            op.Unsqueeze(recurrent, [0]),
            op.Unsqueeze(op.Concat(bias, recurrent_bias, axis=0), [0]),
            None,
            op.Slice(state, [layer], [layer + 1], [0]),
            hidden_size=recurrent.shape[1],
        )
        values = op.Squeeze(output, [1])
        states.append(last)
    return values, states[0] if num_layers == 1 else op.Concat(*states, axis=0)


def _square(values: Any) -> Any:
    """Write a product: ``Pow`` takes as long as forty of them."""
    return _operators().Mul(values, values)


def _power(values: Any, exponent: float) -> Any:
    return _square(values) if exponent == 2 else _operators().Pow(values, _number(values, exponent))


def _softplus(values: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """Write it by ``Exp`` and ``Log``: runtimes have ``Softplus`` in 32 bits only."""
    assert beta == 1.0, "the only one that is used"
    op = _operators()
    number = partial(_number, values)
    small = op.Exp(op.Neg(op.Abs(values)))
    # The logarithm of numbers next to 1 has no digits left.
    rest = op.Where(op.Less(small, number(1e-7)), small, op.Log(op.Add(small, number(1.0))))
    return op.Add(op.Max(values, number(0.0)), rest)


def _erfinv(values: Any) -> Any:
    """Write it by the quantiles of the normal distribution of Wichura, which are exact to 16 digits."""
    op = _operators()
    number = partial(_number, values)
    distance = op.Mul(values, number(0.5))
    size = op.Abs(distance)
    tail = op.Max(op.Sub(number(0.5), size), number(1e-37))
    root = op.Sqrt(op.Neg(op.Log(tail)))
    middle = op.Mul(distance, _quotient(op.Sub(number(0.180625), op.Mul(distance, distance)), number, _MIDDLE))
    near = _quotient(op.Sub(root, number(1.6)), number, _TAIL)
    far = _quotient(op.Sub(root, number(5.0)), number, _FAR)
    outer = op.Mul(op.Sign(distance), op.Where(op.LessOrEqual(root, number(5.0)), near, far))
    deviate = op.Where(op.LessOrEqual(size, number(0.425)), middle, outer)
    return op.Mul(deviate, number(0.5**0.5))


def _quotient(place: Any, number: Callable[[float], Any], coefficients: tuple[str, str]) -> Any:
    """Write the quotient of two polynomials."""
    op = _operators()

    def polynomial(numbers: str) -> Any:
        first, *others = (number(float(item)) for item in numbers.split())
        return reduce(lambda total, item: op.Add(op.Mul(total, place), item), others, first)

    return op.Div(*(polynomial(numbers) for numbers in coefficients))


def _number(like: Any, value: float) -> Any:
    """Write a constant of the type of a tensor, with all its digits."""
    op = _operators()
    return op.CastLike(op.Constant(value=load_package("onnx").helper.make_tensor("number", 11, (), (value,))), like)


def _operators() -> Any:
    return load_package("onnxscript").opset20
