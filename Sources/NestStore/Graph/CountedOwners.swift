import NestModel
import NestSchema

/// The to-many relationships with bounds whose objects a request may have changed; they are counted at its end. Each
/// takes one entry, so that a bulk write of a model with bounds takes memory for them.
struct CountedOwners {
    struct Owner: Hashable {
        var id: ObjectID
        var relationship: PropertyNumber
    }

    private let layout: ModelLayout
    private(set) var owners: Set<Owner> = []

    init(_ layout: ModelLayout) {
        self.layout = layout
    }

    /// Notes the owners whose counts an object's change may affect: those that it referred to before and those that it
    /// refers to now.
    mutating func note(_ object: ChangedRow) {
        guard self.layout.hasCounts, let table = self.layout[object.entity] else { return }
        if object.before == nil, let row = object.after, !table.isJoin {
            // A new object has no related objects yet: these may be too few.
            for relationship in table.kind(row.entity).entity.relationships
            where relationship.isToMany && !relationship.admits(count: 0) {
                self.owners.insert(Owner(id: object.id, relationship: relationship.number))
            }
        }
        for (slot, description) in table.slots.enumerated() {
            guard case .toOne(let relationship, _) = description else { continue }
            let before = object.before?.values.reference(slot)
            let after = object.after?.values.reference(slot)
            guard before != after, let counted = self.inverse(table, slot, relationship) else { continue }
            for id in [before, after] {
                if let id { self.owners.insert(Owner(id: id, relationship: counted)) }
            }
        }
    }

    /// Returns the to-many relationship at the other end of a slot, if it has bounds.
    private func inverse(_ table: EntityLayout, _ slot: Int, _ relationship: RelationshipDescription) -> PropertyNumber?
    {
        guard let owner = self.layout[relationship.destination] else { return nil }
        let found: RelationshipDescription?
        if table.isJoin {
            found = owner.manyToMany.first { $0.join == table.number && $0.ownerSlot == slot }?.relationship
        } else {
            found =
                owner.toMany.first {
                    $0.relationship.number == relationship.inverse && $0.inverseSlot == slot
                        && self.layout[$0.destination] === table
                }?.relationship
        }
        guard let found, found.minimumCount > 0 || found.maximumCount > 0 || !found.isOptional else { return nil }
        return found.number
    }
}
