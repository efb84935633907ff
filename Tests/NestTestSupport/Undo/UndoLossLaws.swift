import NestModel

/// What is lost is named, and only by consent: the law of every undo, judged by the graphs before and after it and by the
/// transactions that it took back.
///
/// An object is the entry's own when the entry inserted it and nothing of it has changed since; a value, when it is the one that
/// the entry gave. An undo may take what is its own. What is another's it takes only when forced, and then each object, value
/// and pair is among the conflicts, or counted when they are more than are listed.
package struct UndoLossLaws {
    /// Ascending.
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

    /// What was broken, in words.
    package var broken: [String] {
        let losses = self.losses
        var broken: [String] = []
        if self.options.policy == .force {
            let unnamed = losses.filter { !$0.isNamed }.map(\.text)
            if unnamed.count > self.conflicts.count - self.conflicts.listed.count {
                broken += unnamed.map { "\($0), and it is not told" }
            }
        } else {
            broken += losses.map { "\($0.text), and nobody forced it" }
        }
        self.judgeReach(&broken)
        for conflict in self.conflicts.listed where [.lost, .overwritten].contains(conflict.reason) {
            if self.options.policy != .force { broken.append("not forced, it tells of \(conflict.brief)") }
            if !self.isTrue(conflict) { broken.append("it tells of \(conflict.brief), which it has not done") }
        }
        return broken
    }

    /// How much of others' it took.
    package var lossCount: Int { self.losses.count }

    private typealias Loss = (text: String, isNamed: Bool)

    private var losses: [Loss] {
        var losses: [Loss] = []
        for (id, object) in self.found.graph.objects.sorted(by: { $0.key < $1.key }) {
            let properties = self.found.graph.entity(object.entity).storedProperties
            guard self.left.graph.lives(id) else {
                // Of one that the entry inserted it is enough to tell what others have set.
                let others = properties.filter { !self.isGiven(id, $0) }
                let isOwn = self.inserted.contains(id)
                let isNamed = isOwn ? others.allSatisfy { self.isNamed(id, $0) } : self.isNamed(id, nil)
                if !isOwn || !others.isEmpty { losses.append(("\(id) is gone, another's", isNamed)) }
                continue
            }
            for property in properties where self.isChanged(id, property) && !self.isGiven(id, property) {
                let text = "\(id).\(property.rawValue) was \(self.found.graph.value(id, property)), another's"
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
                for side in [side, other] where !self.isPlaceKept(side) {
                    losses.append(("the place of \(side), another's", self.isNamed(side)))
                }
                continue
            }
            let isGiven = self.records.contains { $0.after.pairs.contains(side) && !$0.before.pairs.contains(side) }
            if !isGiven { losses.append(("\(side) are parted, another's", self.isNamed(side))) }
        }
        return losses
    }

    /// It deletes nothing that the delete rules do not reach from what the entry inserted, over the graph as it found it: what it
    /// puts back itself it does not delete.
    private func judgeReach(_ broken: inout [String]) {
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
            broken.append("\(id) is gone, and was not inside what the entry inserted")
        }
    }

    // MARK: Whose it is

    /// Whether a property holds what the entry gave it, in the place that the entry put it.
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

    /// Whether a side of a pair stands where it stood, or where the entry put it.
    private func isPlaceKept(_ side: PlacementMarks.Side) -> Bool {
        let mark = self.found.marks.pairs[side]
        return mark == self.left.marks.pairs[side]
            || self.records.contains { $0.marksAfter.pairs[side] == mark && $0.marksBefore.pairs[side] != mark }
    }

    // MARK: What is told

    /// By the property, or as a whole.
    private func isNamed(_ id: ObjectID, _ property: PropertyNumber?) -> Bool {
        self.conflicts.listed.contains { $0.object == id && ($0.property == nil || $0.property == property) }
    }

    private func isNamed(_ side: PlacementMarks.Side) -> Bool {
        let inverse = self.found.graph.relationship(side).inverse
        return self.isNamed(side.owner, side.property) || self.isNamed(side.object, inverse)
    }

    /// Whether a conflict tells what has happened. What one transaction of an entry brings back an older one may take again.
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
