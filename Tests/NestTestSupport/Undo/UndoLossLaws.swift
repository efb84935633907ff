import NestModel

/// Laws about data of other sessions: an undo removes it only if it is forced, and then reports it. They are checked
/// with the graphs before and after the undo and with the reverted transactions.
///
/// An object belongs to the entry if the entry inserted it and it has not changed since; a value belongs to the entry
/// if the entry set it. An undo may remove its own objects and values. It removes objects, values and pairs of other
/// sessions only if it is forced, and then each is among the listed conflicts, or counted if there are more than can be
/// listed.
package struct UndoLossLaws {
    /// The reverted transactions, ascending.
    package let records: [UndoRecord]
    package let options: UndoOptions
    package let found: (graph: NaiveGraph, marks: PlacementMarks)
    package let left: (graph: NaiveGraph, marks: PlacementMarks)
    package let conflicts: UndoConflicts
    private let inserted: Set<ObjectID>

    package init(
        of records: [UndoRecord],
        _ options: UndoOptions,
        found: (graph: NaiveGraph, marks: PlacementMarks),
        left: (graph: NaiveGraph, marks: PlacementMarks),
        _ conflicts: UndoConflicts
    ) {
        self.records = records
        self.options = options
        self.found = found
        self.left = left
        self.conflicts = conflicts
        self.inserted = Set(records.flatMap(\.inserted)).intersection(found.graph.objects.keys)
    }

    /// Descriptions of the violated laws.
    package var broken: [String] {
        let losses = self.losses
        var broken: [String] = []
        if self.options.policy == .force {
            let unnamed = losses.filter { !$0.isNamed }.map(\.text)
            if unnamed.count > self.conflicts.count - self.conflicts.listed.count {
                broken += unnamed.map { "\($0), and it is not reported" }
            }
        } else {
            broken += losses.map { "\($0.text), although the undo was not forced" }
        }
        self.checkReach(&broken)
        for conflict in self.conflicts.listed where [.lost, .overwritten].contains(conflict.reason) {
            if self.options.policy != .force { broken.append("not forced, but reports \(conflict.brief)") }
            if !self.isTrue(conflict) { broken.append("reports \(conflict.brief), which did not happen") }
        }
        return broken
    }

    /// The number of removed objects, values and pairs of other sessions.
    package var lossCount: Int { self.losses.count }

    private typealias Loss = (text: String, isNamed: Bool)

    private var losses: [Loss] {
        var losses: [Loss] = []
        for (id, object) in self.found.graph.objects.sorted(by: { $0.key < $1.key }) {
            let properties = self.found.graph.entity(object.entity).storedProperties
            guard self.left.graph.lives(id) else {
                // For an object that the entry inserted, only the values set by others must be reported.
                let others = properties.filter { !self.isGiven(id, $0) }
                let isOwn = self.inserted.contains(id)
                let isNamed = isOwn ? others.allSatisfy { self.isNamed(id, $0) } : self.isNamed(id, nil)
                if !isOwn || !others.isEmpty { losses.append(("\(id) of another session is deleted", isNamed)) }
                continue
            }
            for property in properties where self.isChanged(id, property) && !self.isGiven(id, property) {
                let text = "\(id).\(property.rawValue) was \(self.found.graph.value(id, property)), another session's"
                losses.append((text, self.isNamed(id, property)))
            }
        }
        return losses + self.lostPairs
    }

    private var lostPairs: [Loss] {
        var losses: [Loss] = []
        let left = self.left.graph.pairs
        for side in self.found.graph.pairs.sorted() {
            let other = self.found.graph.other(side)
            if left.contains(side) {
                for side in [side, other] where !self.isPositionKept(side) {
                    losses.append(("the position of \(side) of another session", self.isNamed(side)))
                }
                continue
            }
            let isGiven = self.records.contains { $0.after.pairs.contains(side) && !$0.before.pairs.contains(side) }
            if !isGiven { losses.append(("the pair \(side) of another session is removed", self.isNamed(side))) }
        }
        return losses
    }

    /// The undo deletes only objects that the cascades reach from the inserted objects in the graph before the undo. It
    /// does not delete objects that it restores.
    private func checkReach(_ broken: inout [String]) {
        var reached = self.inserted
        var open = Array(reached)
        while let id = open.popLast() {
            for relationship in self.found.graph.entity(of: id).relationships
            where relationship.deleteRule == .cascade {
                for other in self.found.graph.related(id, relationship.number) where reached.insert(other).inserted {
                    open.append(other)
                }
            }
        }
        for id in self.found.graph.objects.keys.sorted() where !self.left.graph.lives(id) && !reached.contains(id) {
            broken.append("\(id) is deleted, but no cascade from the inserted objects reaches it")
        }
    }

    // MARK: Ownership

    /// Whether a property has the value and placement that the entry set.
    private func isGiven(_ id: ObjectID, _ property: PropertyNumber) -> Bool {
        let value = self.found.graph.value(id, property)
        let stamp = self.found.marks.stamp(id, property)
        return self.records.contains { record in
            guard record.after.lives(id), record.after.value(id, property) == value,
                record.marksAfter.stamp(id, property) == stamp
            else { return false }
            return !record.before.lives(id) || record.before.value(id, property) != value
                || record.marksBefore.stamp(id, property) != stamp
        }
    }

    private func isChanged(_ id: ObjectID, _ property: PropertyNumber) -> Bool {
        self.found.graph.value(id, property) != self.left.graph.value(id, property)
            || self.found.marks.stamp(id, property) != self.left.marks.stamp(id, property)
    }

    /// Whether a side of a pair keeps its placement, or had the placement that the entry set.
    private func isPositionKept(_ side: PlacementMarks.Side) -> Bool {
        let mark = self.found.marks.pairs[side]
        return mark == self.left.marks.pairs[side]
            || self.records.contains { $0.marksAfter.pairs[side] == mark && $0.marksBefore.pairs[side] != mark }
    }

    // MARK: Reported conflicts

    /// Whether a conflict names the property or the whole object.
    private func isNamed(_ id: ObjectID, _ property: PropertyNumber?) -> Bool {
        self.conflicts.listed.contains { $0.object == id && ($0.property == nil || $0.property == property) }
    }

    private func isNamed(_ side: PlacementMarks.Side) -> Bool {
        let inverse = self.found.graph.relationship(side).inverse
        return self.isNamed(side.owner, side.property) || self.isNamed(side.object, inverse)
    }

    /// Whether a reported conflict happened. With several transactions, an older one may delete an object that a newer
    /// one restored.
    private func isTrue(_ conflict: UndoConflict) -> Bool {
        let id = conflict.object
        guard self.records.count == 1 else { return true }
        guard self.found.graph.lives(id) else { return false }
        guard conflict.reason == .overwritten else { return !self.left.graph.lives(id) && conflict.property == nil }
        guard let property = conflict.property else { return false }
        guard self.left.graph.lives(id) else { return self.inserted.contains(id) }
        let relationship = self.found.graph.entity(of: id).relationship(property)
        guard relationship?.isToMany == true else { return self.isChanged(id, property) }
        return self.found.graph.related(id, property) != self.left.graph.related(id, property)
            || self.left.graph.related(id, property).contains { other in
                let side = PlacementMarks.Side(id, property, other)
                return self.found.marks.pairs[side] != self.left.marks.pairs[side]
            }
    }
}
