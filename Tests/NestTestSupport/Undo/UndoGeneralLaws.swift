import NestModel

/// What holds of every undo, whatever the contract leaves open: judged by the graphs before and after it and by the transactions
/// that it took back.
package struct UndoGeneralLaws {
    /// Ascending.
    package let records: [UndoRecord]
    package let options: UndoOptions
    package let found: NaiveGraph
    package let left: NaiveGraph

    package init(of records: [UndoRecord], _ options: UndoOptions, found: NaiveGraph, left: NaiveGraph) {
        self.records = records
        self.options = options
        self.found = found
        self.left = left
    }

    /// What was broken, in words.
    package var broken: [String] {
        var broken = self.left.faults.map { "it leaves a fault: \($0)" } + self.left.inverseFaults
        if self.left.hasCycle { broken.append("it leaves a circle") }
        self.judgeReturn(&broken)
        if self.options.policy != .force {
            for id in Set(self.found.objects.keys).union(self.left.objects.keys).sorted() {
                self.judgePresence(id, &broken)
                self.judgeValues(id, &broken)
            }
            self.judgePairs(&broken)
        }
        return broken
    }

    /// All that was deleted is there again.
    private func judgeReturn(_ broken: inout [String]) {
        // Forced, it may go again with what an older transaction of the entry had inserted.
        guard self.options.policy != .force || self.records.count == 1 else { return }
        for (index, record) in self.records.enumerated() {
            let own = Set(self.records[..<index].flatMap(\.inserted))
            for id in record.deleted where !own.contains(id) && !self.left.lives(id) {
                broken.append("\(id) was deleted and is not back")
            }
        }
    }

    /// It deletes only what was inserted, as it was, and brings back only what was deleted, as it was.
    private func judgePresence(_ id: ObjectID, _ broken: inout [String]) {
        if let object = self.found.objects[id], !self.left.lives(id) {
            guard self.records.contains(where: { !$0.before.lives(id) && $0.after.lives(id) }) else {
                return broken.append("\(id) is gone, and was not inserted")
            }
            if !self.records.contains(where: { $0.after.objects[id]?.values == object.values }) {
                broken.append("\(id) is gone, edited since")
            }
        }
        if let object = self.left.objects[id], !self.found.lives(id) {
            guard self.records.contains(where: { $0.before.lives(id) && !$0.after.lives(id) }) else {
                return broken.append("\(id) has come, and was not deleted")
            }
            if !self.isAsItWas(id, object.values) {
                broken.append("\(id) is not back as it was")
            }
        }
    }

    /// Whether they are the values that it had before one of the transactions, but for what older ones of the entry changed and
    /// is taken back too: between them others may have changed something else of it.
    private func isAsItWas(_ id: ObjectID, _ values: [PropertyNumber: AttributeValue]) -> Bool {
        self.records.indices.contains { index in
            guard let before = self.records[index].before.objects[id]?.values, before.count == values.count else {
                return false
            }
            return values.allSatisfy { property, value in
                before[property] == value
                    || self.records[..<index].contains { older in
                        let old = older.before.objects[id]?.values[property]
                        return old == value && old != older.after.objects[id]?.values[property]
                    }
            }
        }
    }

    /// No value changes that another has written last: what changes had the value that the entry gave it, and gets one that it
    /// had before.
    private func judgeValues(_ id: ObjectID, _ broken: inout [String]) {
        guard self.found.lives(id), self.left.lives(id) else { return }
        for property in self.left.entity(of: id).storedProperties {
            let (now, new) = (self.found.value(id, property), self.left.value(id, property))
            if now == new { continue }
            func had(_ graph: NaiveGraph, _ value: AttributeValue) -> Bool {
                graph.lives(id) && graph.value(id, property) == value
            }
            let isReference = self.left.entity(of: id).relationship(property) != nil
            if !self.records.contains(where: { had($0.after, now) }) {
                broken.append("\(id).\(property.rawValue) was \(now), another's, and is \(new)")
            } else if !self.records.contains(where: { had($0.before, new) }),
                !(isReference && (self.options.rehomes || new == .null))
            {
                broken.append("\(id).\(property.rawValue) was \(now), and is \(new), which it never was")
            }
        }
    }

    private func judgePairs(_ broken: inout [String]) {
        let (now, new) = (self.found.pairs, self.left.pairs)
        for side in new.subtracting(now) where !self.records.contains(where: { $0.before.pairs.contains(side) }) {
            broken.append("\(side) are paired")
        }
        for side in now.subtracting(new) where !self.records.contains(where: { $0.after.pairs.contains(side) }) {
            broken.append("\(side) are parted")
        }
    }
}

/// Where the objects of ordered lists may stand after one transaction has been taken back.
package struct UndoOrderLaws {
    package let record: UndoRecord
    package let prediction: UndoPrediction
    package let found: NaiveGraph
    package let left: NaiveGraph

    package init(of record: UndoRecord, _ prediction: UndoPrediction, found: NaiveGraph, left: NaiveGraph) {
        self.record = record
        self.prediction = prediction
        self.found = found
        self.left = left
    }

    package var broken: [String] {
        var broken: [String] = []
        for (id, object) in self.left.objects {
            for relationship in self.left.entity(object.entity).relationships where relationship.isOrdered {
                self.judge(id, relationship, &broken)
            }
        }
        return broken.sorted()
    }

    private func judge(_ owner: ObjectID, _ relationship: RelationshipDescription, _ broken: inout [String]) {
        let list = self.left.related(owner, relationship.number)
        let placed = Set(
            list.filter { self.prediction.placed.contains(PlacementMarks.Side(owner, relationship.number, $0)) }
        )
        let old = self.record.before.related(owner, relationship.number)
        let before = self.found.related(owner, relationship.number)
        let name = "\(owner).\(relationship.name): \(before) has become \(list), and was \(old) once"
        // What it has no hand in stands among itself as it stood.
        if list.filter({ !placed.contains($0) }) != before.filter({ list.contains($0) && !placed.contains($0) }) {
            broken.append("\(name): others have moved")
        }
        // One that was parted from the owner and related again is another pair, and no longer the neighbour.
        func isThere(_ id: ObjectID) -> Bool {
            let side = PlacementMarks.Side(owner, relationship.number, id)
            return self.record.marksBefore.pairs[side]?.identity == self.prediction.marks.pairs[side]?.identity
        }
        for id in list where placed.contains(id) {
            let place = list.firstIndex(of: id)!
            let isRehomed = self.prediction.rehomed.contains(PlacementMarks.Side(owner, relationship.number, id))
            if isRehomed {
                if !list[place...].allSatisfy({ placed.contains($0) }) { broken.append("\(name): \(id) is not last") }
                continue
            }
            guard let then = old.firstIndex(of: id) else { continue }
            if then > 0, isThere(old[then - 1]), let left = list.firstIndex(of: old[then - 1]) {
                let between = list[min(left + 1, place)..<place]
                if left > place || !between.allSatisfy({ placed.contains($0) }) {
                    broken.append("\(name): \(id) is not after \(old[then - 1])")
                }
            } else if then > 0, list.contains(old[then - 1]) {
                continue
            } else if then == 0, list[..<place].allSatisfy({ placed.contains($0) }) {
                // The first comes back as the first.
                continue
            } else if then + 1 < old.count, isThere(old[then + 1]), before.contains(old[then + 1]),
                !placed.contains(old[then + 1]),
                let right = list.firstIndex(of: old[then + 1])
            {
                let between = list[min(place + 1, right)..<right]
                if right < place || !between.allSatisfy({ placed.contains($0) }) {
                    broken.append("\(name): \(id) is not before \(old[then + 1])")
                }
            }
        }
    }
}
