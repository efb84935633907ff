import NestModel
import NestSchema

/// Whose relationships the pairs of a model's many-to-many relationships are: made once, looked up for each pair.
struct PairSides {
    /// The objects that one slot of a pair leads to.
    struct Side {
        /// Their relationship that the pair belongs to.
        let relationship: PropertyNumber
        let table: EntityNumber
        /// The entity that declares it.
        let declarer: EntityNumber
        /// The entities of objects that have it.
        let kinds: Set<EntityNumber>
        /// The entity of all of them, when there is but one.
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
                // The one whose parent has it not.
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
