"""The units of the data, seen from the scale of the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.spec import Batch

_SMALLEST = 1e-30  # far below any count or amount, and its square still fits 64 bits


class Units(NamedTuple):
    """A shift and a factor, which broadcast against ``(batch, horizon, channel)``: 0 and 1 where nothing is scaled.

    Distributions in the units of the data take their parameters through these, so that outputs near 0 stand for
    values like those of the window, whatever its size is.
    """

    loc: Tensor
    scale: Tensor

    @classmethod
    def of(cls, batch: Batch | None, raw: Tensor) -> Units:
        """Return the units of a batch, in the precision that likelihoods are worked out in."""
        if batch is None or batch.unit_loc is None or batch.unit_scale is None:
            plain = precise(raw.new_zeros(()))
            return cls(plain, plain + 1)
        return cls(precise(batch.unit_loc), precise(batch.unit_scale))

    @property
    def size(self) -> Tensor:
        """How large values of the window are, roughly; always positive."""
        return self.loc.abs() + self.scale

    def restore(self, values: Tensor) -> Tensor:
        """Bring values from the scale of the network to the units of the data."""
        return self.loc + self.scale * values

    def rescale(self, values: Tensor) -> Tensor:
        """Bring values from the units of the data to the scale of the network."""
        return (values - self.loc) / self.scale

    def level(self, raw: Tensor) -> Tensor:
        """Return a positive value in the units of the data from an output on the scale of the network.

        It is ``scale * softplus(raw + loc / scale)``: where values are far from zero the output restored, which
        keeps a network as well-conditioned as for any other loss, and near zero a value that never reaches it.
        """
        from torch.nn.functional import softplus

        return self.scale * softplus(raw + self.loc / self.scale).clamp_min(_SMALLEST)

    def proportion(self, raw: Tensor) -> tuple[Tensor, Tensor]:
        """Return a proportion between 0 and 1 from an output on the scale of the network, and what is left to 1.

        Well inside the interval the proportion is the output restored; both ends are never reached.
        """
        from torch.nn.functional import softplus

        above, below = raw + self.loc / self.scale, raw + (self.loc - 1) / self.scale
        proportion = self.scale * (softplus(above) - softplus(below))
        rest = self.scale * (softplus(-below) - softplus(-above))
        return proportion.clamp_min(_SMALLEST), rest.clamp_min(_SMALLEST)


def precise(values: Tensor) -> Tensor:
    """Return values in 64 bits, where the device has them: log-likelihoods are small differences of large numbers."""
    return values.float() if values.device.type == "mps" else values.double()


def positive(raw: Tensor, floor: float = 1e-6) -> Tensor:
    """Return numbers above ``floor``, about 0.7 for an output of 0 and growing like the output for large ones."""
    from torch.nn.functional import softplus

    return softplus(raw) + floor
