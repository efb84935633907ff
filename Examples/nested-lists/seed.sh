#!/bin/sh
# Two lists with lists inside: an outline is text that is indented.
set -e
nestc import - <<OUTLINE
Groceries
	Fruit
		Apples
		Pears
	Bread
Trip to the lake
	Pack
		Tent
		Torch
	Buy tickets
OUTLINE
