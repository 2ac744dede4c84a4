//! What policies are told of recorded durations.

/// The mean, and the standard deviation of the population where there is more than one. NaN of none.
pub(crate) fn mean_and_sd(seconds: &[f64]) -> (f64, Option<f64>) {
    let count = seconds.len() as f64;
    let mean = seconds.iter().sum::<f64>() / count;
    let variance = seconds.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    (mean, (seconds.len() > 1).then(|| variance.sqrt()))
}
