//! The gradient of `RGBToHSV`. With the greatest channel `M`, the least `m` and their distance `d`
//! the value is `M`, the saturation `d / M`, and the hue the difference of two channels over `6 d`,
//! plus a constant, where the greatest channel says which two.

use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{GradientContext, InputGradients, NewNode};
use tensorfleet_graph::Output;
use tensorfleet_tensor::Result;

type Context<'a> = GradientContext<'a>;

fn channels(g: &Context<'_>, pixels: Output) -> Result<[Output; 3]> {
    let node = NewNode::new("Split").input(g.scalar(-1i32)?).input(pixels);
    g.outs(node.attr("num_split", 3i64))
}

/// One where both comparisons hold, else zero.
fn where_both(g: &Context<'_>, [first, second]: [(&str, Output, Output); 2]) -> Result<Output> {
    let holds = |(op, a, b): (&str, Output, Output)| g.call(op, [a, b]);
    let dtype = g.dtype(first.1);
    g.cast(g.call("LogicalAnd", [holds(first)?, holds(second)?])?, dtype)
}

/// The sum of `weights[c] * values[c]`.
fn weighted(g: &Context<'_>, weights: [Output; 3], values: [Output; 3]) -> Result<Output> {
    let mut sum = g.mul(weights[0], values[0])?;
    for (weight, value) in weights.into_iter().zip(values).skip(1) {
        sum = g.add2(sum, g.mul(weight, value)?)?;
    }
    Ok(sum)
}

pub(super) fn to_hsv(g: &Context<'_>) -> InputGradients {
    let rgb @ [red, green, blue] = channels(g, g.input(0))?;
    let [of_hue, of_saturation, of_value] = channels(g, g.grad(0)?)?;
    // Of equal channels the first counts as the greatest, and the last as the least.
    let greatest = [
        where_both(g, [("GreaterEqual", red, blue), ("GreaterEqual", red, green)])?,
        where_both(g, [("Greater", green, red), ("GreaterEqual", green, blue)])?,
        where_both(g, [("Greater", blue, red), ("Greater", blue, green)])?,
    ];
    let least = [
        where_both(g, [("Less", red, blue), ("Less", red, green)])?,
        where_both(g, [("LessEqual", green, red), ("Less", green, blue)])?,
        where_both(g, [("LessEqual", blue, red), ("LessEqual", blue, green)])?,
    ];
    let (high, low) = (weighted(g, greatest, rgb)?, weighted(g, least, rgb)?);
    let distance = g.sub(high, low)?;
    let over = |a: Output, b: Output| g.call("DivNoNan", [a, b]);
    let differences = [g.sub(green, blue)?, g.sub(blue, red)?, g.sub(red, green)?];
    let difference = weighted(g, greatest, differences)?;
    let slope = over(g.scale(of_hue, 1.0 / 6.0)?, distance)?;
    let shrinking = over(g.mul(slope, difference)?, distance)?;
    let by_low = over(of_saturation, high)?;
    let by_high = over(g.mul(by_low, low)?, high)?;
    let mut gradients = Vec::new();
    for channel in 0..3 {
        // A channel is added where the one before it is greatest, and taken away after that.
        let sign = g.sub(greatest[(channel + 2) % 3], greatest[(channel + 1) % 3])?;
        let spread = g.sub(greatest[channel], least[channel])?;
        let hue = g.sub(g.mul(slope, sign)?, g.mul(shrinking, spread)?)?;
        let saturation =
            g.sub(g.mul(by_high, greatest[channel])?, g.mul(by_low, least[channel])?)?;
        let value = g.mul(of_value, greatest[channel])?;
        gradients.push(g.add2(g.add2(hue, saturation)?, value)?);
    }
    only(g.out(NewNode::new("ConcatV2").list(&gradients).input(g.scalar(-1i32)?))?)
}
