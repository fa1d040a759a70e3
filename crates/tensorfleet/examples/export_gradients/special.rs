//! Special functions and Fourier transforms.

use tensorfleet::{DType, Graph, Output};

use crate::case;

fn transforms(graph: &Graph) {
    // The parts of complex numbers, weighed differently.
    let parts = |x: &Output| {
        let part = |op: &str| graph.op(op).input(x).attr("Tout", DType::Double).output();
        part("Real") * 1.5 - part("Imag")
    };
    let complex = |x: &[Output]| {
        graph.op("Complex").input(&x[0]).input(&x[1]).attr("Tout", DType::Complex128).output()
    };
    for (name, length) in [("rfft_even", 6i32), ("rfft_odd", 5)] {
        case(graph, name, &[&[2, length as usize]], |x| {
            let op = graph.op("RFFT").input(&x[0]).input([length]);
            parts(&op.attr("Treal", DType::Double).attr("Tcomplex", DType::Complex128).output())
        });
        let half: &[usize] = &[2, length as usize / 2 + 1];
        case(graph, &format!("i{name}"), &[half, half], |x| {
            let op = graph.op("IRFFT").input(complex(x)).input([length]);
            op.attr("Treal", DType::Double).attr("Tcomplex", DType::Complex128).output()
        });
    }
    case(graph, "rfft_of_images", &[&[2, 3, 4]], |x| {
        let op = graph.op("RFFT2D").input(&x[0]).input([3i32, 4]);
        parts(&op.attr("Treal", DType::Double).attr("Tcomplex", DType::Complex128).output())
    });
    case(graph, "irfft_of_images", &[&[2, 4, 3], &[2, 4, 3]], |x| {
        let op = graph.op("IRFFT2D").input(complex(x)).input([4i32, 4]);
        op.attr("Treal", DType::Double).attr("Tcomplex", DType::Complex128).output()
    });
}

pub(crate) fn add(graph: &Graph) {
    for op in ["BesselJ1", "BesselK1", "BesselK1e", "BesselY1"] {
        case(graph, op, &[&[7]], |x| graph.op(op).input(&x[0] + 2.1).output());
    }
    case(graph, "betainc", &[&[7]], |x| {
        let inside = (&x[0] + 1.5) * 0.3;
        graph
            .op("Betainc")
            .input(graph.constant([2.5f64; 7]))
            .input([1.5f64; 7])
            .input(inside)
            .output()
    });
    case(graph, "next_after", &[&[2, 3], &[3]], |x| {
        graph.op("NextAfter").input(&x[0]).input(&x[1]).output()
    });
    case(graph, "truncated_normal", &[&[3], &[3], &[3], &[3]], |x| {
        let op = graph.op("StatelessParameterizedTruncatedNormal");
        let op = op.input([4i32, 3]).input([1i64, 2]).input(&x[0]).input(&x[1] + 2.0);
        op.input(&x[2] - 3.0).input(&x[3] + 3.0).output()
    });
    transforms(graph);
}
