import NestModel
import NestSchema

extension ModelLayout {
    /// Returns the sub-tree that a token is confined to; `nil` if there is none: the relationship leads to other kinds
    /// of objects, or to objects that can have several owners.
    package func subtree(_ confinement: AccessConfinement) -> SubtreeKey? {
        guard let layout = self[confinement.entity], let toMany = layout.toMany(confinement.relationship),
            !toMany.relationship.isHiddenInverse, self[toMany.destination]?.number == layout.number,
            layout.partnerSlots[toMany.inverseSlot] < 0
        else { return nil }
        return SubtreeKey(table: layout.number, slot: toMany.inverseSlot, root: confinement.root)
    }
}
