//! `hete_aware`: copies at the end of a phase, on the slots that save time and energy.
