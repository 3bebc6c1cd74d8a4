// Package faults makes disasters into data: a Plan is a list of (trigger, fault, target, amount) that prints, parses and
// repeats a run without anything else.
//
// Swarm draws a plan from a seed. A Nemesis arms a plan on a Target, is told of every hook that the engine passes,
// strikes when a trigger fires, heals everything at the end of the burn and keeps the record of what each fault struck:
// something in flight, or nothing. Package shrink makes a failing plan smaller.
//
// The package knows no engine: nodes and requests are names, and a Target is whatever can be struck. sim.World is one.
package faults
