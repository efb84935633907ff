import NestModel
import NestSchema

/// The placement stamps of all objects and pairs. They distinguish an object that was placed again at the same position
/// from one that was not, which a graph does not show.
package struct PlacementMarks: Equatable {
    /// One side of a pair of a many-to-many relationship: the object in the list of its owner.
    package struct Side: Hashable, Comparable {
        package var owner: ObjectID
        package var property: PropertyNumber
        package var object: ObjectID

        package init(_ owner: ObjectID, _ property: PropertyNumber, _ object: ObjectID) {
            self.owner = owner
            self.property = property
            self.object = object
        }

        package static func < (a: Side, b: Side) -> Bool {
            (a.owner, a.property, a.object) < (b.owner, b.property, b.object)
        }
    }

    package struct PairMark: Equatable {
        /// The pair's identity, which changes if the pair is removed and added again.
        package var identity: Int64
        /// The placement stamp, or 0 without an order.
        package var stamp: UInt64
    }

    /// The stamps of objects in ordered lists, by their to-one relationship.
    package var places: [ObjectID: [PropertyNumber: UInt64]] = [:]
    /// The marks by side of a pair.
    package var pairs: [Side: PairMark] = [:]

    package init() {}

    package init(_ state: StoredState) {
        for (layout, rows) in zip(state.layout.entities, state.tables) where !layout.isJoin {
            for (id, row) in rows {
                for (place, slot) in layout.placedSlots.enumerated() where row.values[slot] != .null {
                    self.places[id, default: [:]][layout.properties[slot]] = row.places[place].stamp
                }
                for relation in layout.manyToMany where layout.kind(row.entity).has(relation.relationship) {
                    self.addPairs(of: id, relation, state)
                }
            }
        }
    }

    private mutating func addPairs(of id: ObjectID, _ relation: EntityLayout.ManyToMany, _ state: StoredState) {
        for (pair, row) in state.tables[state.layout.index(of: relation.join)!]
        where row.values[relation.ownerSlot] == .reference(id) {
            let side = Side(id, relation.relationship.number, row.values[relation.targetSlot].referenceValue!)
            let stamp = relation.ownerPlace.map { row.places[$0].stamp } ?? 0
            self.pairs[side] = PairMark(identity: pair.rawValue, stamp: stamp)
        }
    }

    package func stamp(_ id: ObjectID, _ property: PropertyNumber) -> UInt64? { self.places[id]?[property] }
}

extension EntityLayout.Kind {
    fileprivate func has(_ relationship: RelationshipDescription) -> Bool {
        self.entity.relationship(relationship.number) != nil
    }
}
