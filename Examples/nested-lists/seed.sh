#!/bin/sh
# Imports two lists with lists inside. The outline is indented text.
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
