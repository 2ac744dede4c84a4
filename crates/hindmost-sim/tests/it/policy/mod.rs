//! Tests of policies that no instance can state: comparisons with simple programs and closed forms, random runs, bounds over
//! many seeds. `plain_packing` and `optimum` are such programs; instances worked out by hand are in `instances/`.

mod auto;
mod auto_learns;
mod capacity;
mod chronos;
mod dollymp;
mod hadoop;
mod mantri_osdi;
mod optimum;
mod pace;
mod plain_packing;
mod riski;
mod sca;
mod shed;
mod tetris;
mod window;
