import NestModel
import NestSchema

/// The relationships that the pairs of a model's many-to-many relationships belong to. Built once, looked up for each
/// pair.
struct PairSides {
    /// The objects that one slot of a pair refers to.
    struct Side {
        /// The relationship of these objects that the pair belongs to.
        let relationship: PropertyNumber
        let table: EntityNumber
        /// The entity that declares the relationship.
        let declarer: EntityNumber
        /// The entities whose objects have the relationship.
        let kinds: Set<EntityNumber>
        /// The entity of all these objects, if there is only one.
        let onlyKind: EntityNumber?
    }

    private struct Key: Hashable {
        var join: EntityNumber
        var slot: Int
    }

    private var sides: [Key: Side] = [:]

    init(_ layout: ModelLayout) {
        for table in layout.entities {
            for pairs in table.manyToMany {
                let relationship = pairs.relationship.number
                let owners = table.kinds.map(\.entity).filter { $0.relationship(relationship) != nil }
                let concrete = owners.filter { !$0.isAbstract }.map(\.number)
                // The entity whose parent does not have the relationship.
                let declarer = owners.first { owner in !owners.contains { $0.number == owner.parent } }
                self.sides[Key(join: pairs.join, slot: pairs.ownerSlot)] = Side(
                    relationship: relationship,
                    table: table.number,
                    declarer: declarer?.number ?? table.number,
                    kinds: Set(owners.map(\.number)),
                    onlyKind: concrete.count == 1 ? concrete[0] : nil
                )
            }
        }
    }

    subscript(_ join: EntityNumber, _ slot: Int) -> Side? { self.sides[Key(join: join, slot: slot)] }
}
