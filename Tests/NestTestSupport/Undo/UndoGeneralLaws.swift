import NestModel

/// Laws that hold for every undo, also where the contract leaves the result open. They are checked with the graphs
/// before and after the undo and with the reverted transactions.
package struct UndoGeneralLaws {
    /// The reverted transactions, ascending.
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

    /// Descriptions of the violated laws.
    package var broken: [String] {
        var broken = self.left.faults.map { "the result has the fault \($0)" } + self.left.inverseFaults
        if self.left.hasCycle { broken.append("the result has a cycle") }
        self.checkReturn(&broken)
        if self.options.policy != .force {
            for id in Set(self.found.objects.keys).union(self.left.objects.keys).sorted() {
                self.checkPresence(id, &broken)
                self.checkValues(id, &broken)
            }
            self.checkPairs(&broken)
        }
        return broken
    }

    /// All deleted objects exist again.
    private func checkReturn(_ broken: inout [String]) {
        // A forced undo may delete a restored object again together with an object inserted by an older transaction of
        // the entry.
        guard self.options.policy != .force || self.records.count == 1 else { return }
        for (index, record) in self.records.enumerated() {
            let own = Set(self.records[..<index].flatMap(\.inserted))
            for id in record.deleted where !own.contains(id) && !self.left.lives(id) {
                broken.append("\(id) was deleted and is not restored")
            }
        }
    }

    /// The undo deletes only unchanged inserted objects, and restores only deleted objects with their old values.
    private func checkPresence(_ id: ObjectID, _ broken: inout [String]) {
        if let object = self.found.objects[id], !self.left.lives(id) {
            guard self.records.contains(where: { !$0.before.lives(id) && $0.after.lives(id) }) else {
                return broken.append("\(id) is deleted, and was not inserted")
            }
            if !self.records.contains(where: { $0.after.objects[id]?.values == object.values }) {
                broken.append("\(id) is deleted, although it was edited since")
            }
        }
        if let object = self.left.objects[id], !self.found.lives(id) {
            guard self.records.contains(where: { $0.before.lives(id) && !$0.after.lives(id) }) else {
                return broken.append("\(id) is inserted, and was not deleted")
            }
            if !self.isAsItWas(id, object.values) {
                broken.append("\(id) is restored with other values")
            }
        }
    }

    /// Whether the values are those before one of the transactions, or reverted further by older transactions of the
    /// entry. Between these transactions, other sessions may have changed other values.
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

    /// The undo changes no value that another session wrote last. A changed value must have been set by the entry and
    /// gets an earlier value.
    private func checkValues(_ id: ObjectID, _ broken: inout [String]) {
        guard self.found.lives(id), self.left.lives(id) else { return }
        for property in self.left.entity(of: id).storedProperties {
            let (now, new) = (self.found.value(id, property), self.left.value(id, property))
            if now == new { continue }
            func had(_ graph: NaiveGraph, _ value: AttributeValue) -> Bool {
                graph.lives(id) && graph.value(id, property) == value
            }
            let isReference = self.left.entity(of: id).relationship(property) != nil
            if !self.records.contains(where: { had($0.after, now) }) {
                broken.append("\(id).\(property.rawValue) was \(now), set by another session, and is \(new)")
            } else if !self.records.contains(where: { had($0.before, new) }),
                !(isReference && (self.options.rehomes || new == .null))
            {
                broken.append("\(id).\(property.rawValue) was \(now), and is \(new), which it never had")
            }
        }
    }

    private func checkPairs(_ broken: inout [String]) {
        let (now, new) = (self.found.pairs, self.left.pairs)
        for side in new.subtracting(now) where !self.records.contains(where: { $0.before.pairs.contains(side) }) {
            broken.append("\(side) is a new pair")
        }
        for side in now.subtracting(new) where !self.records.contains(where: { $0.after.pairs.contains(side) }) {
            broken.append("\(side) is removed")
        }
    }
}

/// Laws for the positions in ordered lists after the undo of one transaction.
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
                self.check(id, relationship, &broken)
            }
        }
        return broken.sorted()
    }

    private func check(_ owner: ObjectID, _ relationship: RelationshipDescription, _ broken: inout [String]) {
        let list = self.left.related(owner, relationship.number)
        let placed = Set(
            list.filter { self.prediction.placed.contains(PlacementMarks.Side(owner, relationship.number, $0)) }
        )
        let old = self.record.before.related(owner, relationship.number)
        let before = self.found.related(owner, relationship.number)
        let name = "\(owner).\(relationship.name): \(before) became \(list), and was \(old) before the transaction"
        // Objects that the undo does not place keep their order.
        if list.filter({ !placed.contains($0) }) != before.filter({ list.contains($0) && !placed.contains($0) }) {
            broken.append("\(name): other objects have moved")
        }
        // An object that was unrelated from the owner and related again is another pair and no longer the neighbour.
        func isThere(_ id: ObjectID) -> Bool {
            let side = PlacementMarks.Side(owner, relationship.number, id)
            return self.record.marksBefore.pairs[side]?.identity == self.prediction.marks.pairs[side]?.identity
        }
        for id in list where placed.contains(id) {
            let index = list.firstIndex(of: id)!
            let isRehomed = self.prediction.rehomed.contains(PlacementMarks.Side(owner, relationship.number, id))
            if isRehomed {
                if !list[index...].allSatisfy({ placed.contains($0) }) { broken.append("\(name): \(id) is not last") }
                continue
            }
            guard let then = old.firstIndex(of: id) else { continue }
            if then > 0, isThere(old[then - 1]), let left = list.firstIndex(of: old[then - 1]) {
                let between = list[min(left + 1, index)..<index]
                if left > index || !between.allSatisfy({ placed.contains($0) }) {
                    broken.append("\(name): \(id) is not after \(old[then - 1])")
                }
            } else if then > 0, list.contains(old[then - 1]) {
                continue
            } else if then == 0, list[..<index].allSatisfy({ placed.contains($0) }) {
                // The first object is restored as the first.
                continue
            } else if then + 1 < old.count, isThere(old[then + 1]), before.contains(old[then + 1]),
                !placed.contains(old[then + 1]),
                let right = list.firstIndex(of: old[then + 1])
            {
                let between = list[min(index + 1, right)..<right]
                if right < index || !between.allSatisfy({ placed.contains($0) }) {
                    broken.append("\(name): \(id) is not before \(old[then + 1])")
                }
            }
        }
    }
}
