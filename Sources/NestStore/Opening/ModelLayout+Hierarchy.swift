import NestModel
import NestSchema

extension ModelLayout {
    /// The sub-tree that a token is confined to; `nil` when there is none: the relationship leads to other kinds of
    /// objects, or to objects that can be below several.
    package func subtree(_ confinement: AccessConfinement) -> SubtreeKey? {
        guard let layout = self[confinement.entity], let toMany = layout.toMany(confinement.relationship),
            self[toMany.destination]?.number == layout.number, layout.partnerSlots[toMany.inverseSlot] < 0
        else { return nil }
        return SubtreeKey(table: layout.number, slot: toMany.inverseSlot, root: confinement.root)
    }
}
