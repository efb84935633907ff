import NestModel

/// One committed transaction with the complete graphs before and after it.
package struct UndoRecord {
    package var revision: Revision
    /// The public number of the session that wrote it.
    package var session: UInt64
    package var kind: HistoryEntry.Kind
    package var name: String
    package var before: NaiveGraph
    package var after: NaiveGraph
    package var marksBefore: PlacementMarks
    package var marksAfter: PlacementMarks
    /// Whether the transaction may have placed objects at their old positions. Only the marks show this, and they are
    /// not known.
    package var isVague = false
    /// Whether the changes are unknown, because the graphs are not those of the store.
    package var isUnknown = false

    package init(
        revision: Revision,
        session: UInt64,
        kind: HistoryEntry.Kind,
        name: String,
        before: NaiveGraph,
        after: NaiveGraph,
        marksBefore: PlacementMarks,
        marksAfter: PlacementMarks
    ) {
        self.revision = revision
        self.session = session
        self.kind = kind
        self.name = name
        self.before = before
        self.after = after
        self.marksBefore = marksBefore
        self.marksAfter = marksAfter
    }

    package var inserted: [ObjectID] { self.after.objects.keys.filter { self.before.objects[$0] == nil }.sorted() }
    package var deleted: [ObjectID] { self.before.objects.keys.filter { self.after.objects[$0] == nil }.sorted() }
    /// The objects that exist before and after.
    package var kept: [ObjectID] { self.before.objects.keys.filter { self.after.objects[$0] != nil }.sorted() }
}

extension NaiveGraph {
    package func lives(_ id: ObjectID) -> Bool { self.objects[id] != nil }

    /// Whether this is the to-one side of a one-to-many relationship.
    package func isOwned(_ relationship: RelationshipDescription) -> Bool {
        !relationship.isToMany && self.inverse(relationship).isToMany
    }

    package func isPartner(_ relationship: RelationshipDescription) -> Bool {
        !relationship.isToMany && !self.inverse(relationship).isToMany
    }

    package func isPaired(_ relationship: RelationshipDescription) -> Bool {
        relationship.isToMany && self.inverse(relationship).isToMany
    }

    /// Every pair of the many-to-many relationships, once, as the lower of its two sides.
    package var pairs: Set<PlacementMarks.Side> {
        var pairs: Set<PlacementMarks.Side> = []
        for (id, object) in self.objects {
            for relationship in self.entity(object.entity).relationships where self.isPaired(relationship) {
                for other in self.related(id, relationship.number) {
                    let side = PlacementMarks.Side(id, relationship.number, other)
                    pairs.insert(min(side, PlacementMarks.Side(other, relationship.inverse, id)))
                }
            }
        }
        return pairs
    }

    /// Returns the other side of a pair.
    package func other(_ side: PlacementMarks.Side) -> PlacementMarks.Side {
        PlacementMarks.Side(side.object, self.relationship(side).inverse, side.owner)
    }

    package func relationship(_ side: PlacementMarks.Side) -> RelationshipDescription {
        self.entity(of: side.owner).relationship(side.property)!
    }

    /// Whether an object of a hierarchy is its own ancestor.
    package var hasCycle: Bool {
        for (id, object) in self.objects {
            for relationship in self.entity(object.entity).relationships where self.isOwned(relationship) {
                let inverse = self.inverse(relationship)
                guard self.top(relationship.destination) == self.top(inverse.destination), !inverse.isHiddenInverse
                else { continue }
                var above = self.related(id, relationship.number).first
                var steps = 0
                while let current = above, current != id, steps <= self.objects.count {
                    above = self.related(current, relationship.number).first
                    steps += 1
                }
                if above == id || steps > self.objects.count { return true }
            }
        }
        return false
    }
}
