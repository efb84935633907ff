import NestModel
import NestTestSupport

/// The laws of what an undo may and must do, checked with four graphs: before and after the reverted transaction,
/// before and after the undo.
struct UndoLaws {
    let before: NaiveGraph
    let after: NaiveGraph
    let found: NaiveGraph
    let left: NaiveGraph
    /// The objects that the reverted transaction names: it may have placed them.
    private let placed: Set<ObjectID>
    /// The objects that each later transaction names.
    private let placedSince: [Set<ObjectID>]

    /// `since`: the transactions between the two.
    init(of entry: ModelHistory.Entry, by undo: ModelHistory.Entry, since: [ModelHistory.Entry]) {
        self.placed = entry.named
        self.placedSince = since.map(\.named)
        self.before = entry.before
        self.after = entry.after
        self.found = undo.before
        self.left = undo.after
    }

    /// Descriptions of the broken laws.
    var broken: [String] {
        var broken: [String] = []
        let ids = [self.before, self.after, self.found, self.left].reduce(into: Set<ObjectID>()) {
            $0.formUnion($1.objects.keys)
        }
        for id in ids.sorted() {
            self.checkPresence(id, &broken)
            self.checkValues(id, &broken)
            self.checkMembers(id, &broken)
        }
        return broken
    }

    /// It deletes only objects that the transaction inserted, if they are unchanged. It restores only objects that the
    /// transaction deleted.
    private func checkPresence(_ id: ObjectID, _ broken: inout [String]) {
        let (before, after) = (self.before.objects[id] != nil, self.after.objects[id] != nil)
        let (found, left) = (self.found.objects[id] != nil, self.left.objects[id] != nil)
        if found != left, found != after || left != before {
            broken.append("\(id) is \(left ? "" : "not ")there, against the law")
        }
        if before != after, left != before { broken.append("\(id) is not reverted") }
        if found, !left, after {
            let strangers = self.found.entity(of: id).relationships.filter { relationship in
                let related = self.found.related(id, relationship.number)
                return !Set(related).isSubset(of: self.after.related(id, relationship.number))
            }
            for stranger in strangers { broken.append("\(id) was deleted with new \(stranger.name)") }
            if self.found.objects[id]!.values != self.after.objects[id]!.values {
                broken.append("\(id) was deleted, but edited since")
            }
        }
        if left, !found, before, self.left.objects[id]!.values != self.before.objects[id]!.values {
            broken.append("\(id) is not restored as it was")
        }
    }

    /// It changes only values that the transaction set and that have not changed since, to their values from before. It
    /// leaves none of the values that the transaction changed.
    private func checkValues(_ id: ObjectID, _ broken: inout [String]) {
        guard let object = self.left.objects[id] else { return }
        for property in self.left.entity(object.entity).storedProperties {
            func value(_ graph: NaiveGraph) -> AttributeValue? {
                graph.objects[id] == nil ? nil : graph.value(id, property)
            }
            let (before, after) = (value(self.before), value(self.after))
            let (found, left) = (value(self.found), value(self.left))
            if let found, found != left, found != after || left != before {
                broken.append("\(id).\(property.rawValue) was \(found), is \(left!): changed by another")
            }
            if found == nil, left != before { broken.append("\(id).\(property.rawValue) is restored as \(left!)") }
            if before != nil, after != nil, before != after, left != before {
                broken.append("\(id).\(property.rawValue) is \(left!), not reverted")
            }
        }
    }

    /// The same for the members of many-to-many relationships. The order of other objects in a list stays.
    private func checkMembers(_ id: ObjectID, _ broken: inout [String]) {
        guard let object = self.left.objects[id] else { return }
        for relationship in self.left.entity(object.entity).relationships where relationship.isToMany {
            let name = "\(id).\(relationship.name)"
            let lists = [self.before, self.after, self.found, self.left].map { $0.related(id, relationship.number) }
            let sets = lists.map { Set($0) }
            let isManyToMany = relationship.join != nil
            for other in sets[3].subtracting(sets[2]) where !sets[0].contains(other) || sets[1].contains(other) {
                broken.append("\(name) has got \(other)")
            }
            for other in sets[2].subtracting(sets[3]) where sets[0].contains(other) || !sets[1].contains(other) {
                broken.append("\(name) has lost \(other)")
            }
            for other in sets[0].subtracting(sets[1]) where isManyToMany && !sets[3].contains(other) {
                broken.append("\(name) has not got \(other) back")
            }
            for other in sets[1].subtracting(sets[0]) where isManyToMany && sets[3].contains(other) {
                // A pair that was placed again since stays.
                if self.placedSince.contains(where: { $0.contains(id) && $0.contains(other) }) { continue }
                broken.append("\(name) still has \(other)")
            }
            guard relationship.isOrdered else { continue }
            // Objects that the transaction did not move keep their relative order.
            let moved = Self.movedBetween(lists[0], lists[1]).union(self.placed)
            let others = lists[2].filter { sets[3].contains($0) && !moved.contains($0) }
            if others != lists[3].filter({ sets[2].contains($0) && !moved.contains($0) }) {
                broken.append("\(name) was \(lists[2]), is \(lists[3])")
            }
        }
    }

    /// Returns all objects from the first difference to the last: any of them may have been placed again.
    private static func movedBetween(_ a: [ObjectID], _ b: [ObjectID]) -> Set<ObjectID> {
        let head = zip(a, b).prefix { $0 == $1 }.count
        let tail = min(zip(a.reversed(), b.reversed()).prefix { $0 == $1 }.count, min(a.count, b.count) - head)
        return Set(a[head..<(a.count - tail)]).union(b[head..<(b.count - tail)])
    }
}
