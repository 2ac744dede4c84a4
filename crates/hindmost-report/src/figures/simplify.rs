//! Removes points of curves if the curve without them looks the same.

/// Largest distance by which a curve may move, in a picture's units: less than a quarter of a pixel on most screens.
const TOLERANCE: f64 = 0.2;
/// Largest number of points that are examined. Longer curves are reduced to every second, third, … point first.
const MOST: usize = 4000;

/// Returns the points that are needed to draw the line through all points (algorithm of Ramer, Douglas and Peucker).
pub(super) fn simplified(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() < 3 {
        return points.to_vec();
    }
    let every = points.len().div_ceil(MOST);
    let last = points.len() - 1;
    let taken: Vec<(f64, f64)> =
        points.iter().enumerate().filter(|(at, _)| at % every == 0 || *at == last).map(|(_, point)| *point).collect();
    let mut kept = vec![false; taken.len()];
    kept[0] = true;
    kept[taken.len() - 1] = true;
    let mut spans = vec![(0, taken.len() - 1)];
    while let Some((from, to)) = spans.pop() {
        let farthest = (from + 1..to)
            .map(|at| (at, distance(taken[at], taken[from], taken[to])))
            .max_by(|one, other| one.1.total_cmp(&other.1));
        if let Some((at, distance)) = farthest
            && distance > TOLERANCE
        {
            kept[at] = true;
            spans.extend([(from, at), (at, to)]);
        }
    }
    taken.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(point, _)| point).collect()
}

/// Returns the distance of `point` from the line through `from` and `to`.
fn distance(point: (f64, f64), from: (f64, f64), to: (f64, f64)) -> f64 {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy);
    let (px, py) = (point.0 - from.0, point.1 - from.1);
    if length < 1e-9 { px.hypot(py) } else { (px * dy - py * dx).abs() / length }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_keeps_only_its_ends() {
        let points: Vec<(f64, f64)> = (0..1000).map(|at| (f64::from(at) / 3.0, f64::from(at) / 6.0)).collect();
        assert_eq!(simplified(&points), [points[0], points[999]]);
        assert_eq!(simplified(&points[..1]), points[..1]);
        assert!(simplified(&[]).is_empty());
    }

    #[test]
    fn visible_points_are_kept() {
        let curve = |at: i32| (f64::from(at) / 30.0, 200.0 * (1.0 - (-f64::from(at) / 2000.0).exp()));
        let points: Vec<(f64, f64)> = (0..12_000).map(curve).collect();
        let few = simplified(&points);
        assert!(few.len() < 100, "{}", few.len());
        for point in &points {
            let after = few.iter().position(|other| other.0 >= point.0).unwrap().max(1);
            assert!(distance(*point, few[after - 1], few[after]) < 2.0 * TOLERANCE);
        }
    }
}
