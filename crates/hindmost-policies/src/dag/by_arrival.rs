//! A map from jobs to values with access in constant time. It relies on ids of jobs that grow in the order of arrival.

use std::collections::VecDeque;

use hindmost_core::ids::JobId;

/// Values of jobs, in the order of the jobs' ids.
#[derive(Debug)]
pub(crate) struct ByArrival<T> {
    /// The id that the first element belongs to.
    first: u32,
    /// The values of the ids from `first` on; `None` for an id without a value.
    all: VecDeque<Option<T>>,
}

impl<T> Default for ByArrival<T> {
    fn default() -> ByArrival<T> {
        ByArrival { first: 0, all: VecDeque::new() }
    }
}

impl<T> ByArrival<T> {
    /// Adds the value of a job that has arrived after all others.
    pub fn push(&mut self, job: JobId, kept: T) {
        if self.all.is_empty() {
            self.first = job.0;
        }
        while self.first + (self.all.len() as u32) < job.0 {
            self.all.push_back(None);
        }
        self.all.push_back(Some(kept));
    }

    /// Removes the value of a job.
    pub fn remove(&mut self, job: JobId) {
        let at = job.0.checked_sub(self.first);
        if let Some(kept) = at.and_then(|at| self.all.get_mut(at as usize)) {
            *kept = None;
        }
        while self.all.front().is_some_and(Option::is_none) {
            self.all.pop_front();
            self.first += 1;
        }
    }

    /// Returns the value of a job; `None` if it has none.
    #[inline]
    pub fn get(&self, job: JobId) -> Option<&T> {
        self.all.get(job.0.checked_sub(self.first)? as usize)?.as_ref()
    }

    /// Returns the value of a job for changes; `None` if it has none.
    #[inline]
    pub fn get_mut(&mut self, job: JobId) -> Option<&mut T> {
        self.all.get_mut(job.0.checked_sub(self.first)? as usize)?.as_mut()
    }

    /// Returns all values in the order of their jobs' ids.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.all.iter_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_until_they_are_removed() {
        let mut kept = ByArrival::default();
        for job in [3, 4, 6] {
            kept.push(JobId(job), job * 10);
        }
        let found = |kept: &ByArrival<u32>| (0..9).filter_map(|job| kept.get(JobId(job)).copied()).collect::<Vec<_>>();
        assert_eq!(found(&kept), [30, 40, 60]);
        kept.remove(JobId(4));
        kept.remove(JobId(5));
        assert_eq!(found(&kept), [30, 60]);
        kept.remove(JobId(3));
        assert_eq!((found(&kept), kept.first), (vec![60], 6));
        kept.values_mut().for_each(|kept| *kept += 1);
        kept.remove(JobId(6));
        kept.remove(JobId(6));
        kept.push(JobId(9), 1);
        assert_eq!((found(&kept), kept.get_mut(JobId(9))), (vec![], Some(&mut 1)));
    }
}
