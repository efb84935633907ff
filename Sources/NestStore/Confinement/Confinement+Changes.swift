import NestModel
import NestSchema

/// Decides which changes of an object in the token scope a confined client sees.
extension Confinement {
    /// Whether some changes of the object may be hidden: the object is the root, whose owner is hidden, or its table
    /// has other to-one relationships.
    package func hidesChanges(of id: ObjectID) -> Bool { self.layout.hidesChanges(of: id, self.key) }

    func shows(_ change: ObjectChange) -> Bool {
        guard change.kind == .update else { return true }
        let isRoot = change.id == self.key.root
        func isShown(_ slot: Int) -> Bool {
            slot == self.key.slot ? !isRoot : !self.isRelationship(self.layout.properties[slot])
        }
        return change.values.contains { isShown($0.slot) }
            || change.placings.contains { isShown(self.layout.placedSlots[$0.place]) }
    }
}

extension ModelLayout {
    /// Whether changes of one of these objects may be hidden from a confined client.
    package func hidesChanges(_ grant: AccessConfinement, ofAnyOf preconditions: [Precondition]) -> Bool {
        guard let key = self.subtree(grant), let layout = self[key.table] else { return false }
        return preconditions.contains { layout.hidesChanges(of: $0.object, key) }
    }
}

extension EntityLayout {
    fileprivate func hidesChanges(of id: ObjectID, _ key: SubtreeKey) -> Bool {
        id == key.root
            || self.slots.indices.contains { slot in
                if case .toOne = self.slots[slot] { slot != key.slot } else { false }
            }
    }
}
