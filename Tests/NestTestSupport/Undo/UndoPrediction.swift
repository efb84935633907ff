import NestModel

/// The allowed forms of a reported conflict. Where a conflict can be reported for either of two objects or with one of
/// several reasons, the contract leaves the choice.
package struct ConflictLaw: CustomStringConvertible {
    package var reasons: Set<UndoConflict.Reason>
    package var objects: Set<ObjectID>
    /// The allowed properties; `nil`: any property or the whole object.
    package var properties: Set<PropertyNumber>?
    /// Whether the conflict must be reported. Otherwise it may be.
    package var isRequired: Bool

    package func allows(_ conflict: UndoConflict) -> Bool {
        self.reasons.contains(conflict.reason) && self.objects.contains(conflict.object)
            && (self.properties.map { properties in conflict.property.map { properties.contains($0) } ?? false } ?? true)
    }

    package var description: String {
        let reasons = self.reasons.map(\.description).sorted().joined(separator: "/")
        let properties = self.properties.map { ".\($0.map(\.rawValue).sorted())" } ?? ""
        return "\(self.isRequired ? "" : "maybe ")\(reasons) \(self.objects.sorted())\(properties)"
    }
}

/// An attribute or to-one relationship of an object.
package struct UndoSlot: Hashable {
    package var id: ObjectID
    package var property: PropertyNumber
}

/// The result of an undo by the contract.
package struct UndoPrediction {
    /// The graph after the undo. Positions in ordered lists are only probable; the order laws apply to the objects in
    /// `placed`.
    package var graph: NaiveGraph
    package var marks: PlacementMarks
    package var conflicts: [ConflictLaw] = []
    /// If not empty, the undo is refused with one of these codes.
    package var refusals: Set<ErrorCode> = []
    /// The undo may be refused with one of these codes.
    package var possibleRefusals: Set<ErrorCode> = []
    /// The reasons why the contract leaves the result open. Only the general laws then apply.
    package var openings: [String] = []
    /// Objects that the undo puts into ordered lists.
    package var placed: Set<PlacementMarks.Side> = []
    /// Slots whose value is not the one that the transaction set. Older transactions of the entry do not revert them
    /// either.
    package var left: Set<UndoSlot> = []
    /// The placed objects that are appended to the list of another owner.
    package var rehomed: Set<PlacementMarks.Side> = []
    /// The slots of the objects that this undo has put under another owner, in this or a newer transaction.
    package var rehomedSlots: Set<UndoSlot> = []

    package init(graph: NaiveGraph, marks: PlacementMarks) {
        self.graph = graph
        self.marks = marks
    }

    package var isOpen: Bool { !self.openings.isEmpty }

    /// Returns descriptions of reported conflicts that are not allowed, and of required conflicts that are missing.
    package func faults(of conflicts: UndoConflicts) -> [String] {
        guard !self.isOpen else { return [] }
        var faults: [String] = []
        for conflict in conflicts.listed where !self.conflicts.contains(where: { $0.allows(conflict) }) {
            faults.append("unexpected conflict: \(conflict.brief)")
        }
        if conflicts.listed.count == conflicts.count {
            for law in self.conflicts where law.isRequired && !conflicts.listed.contains(where: { law.allows($0) }) {
                faults.append("missing conflict: \(law)")
            }
        }
        return faults
    }
}

extension UndoConflict {
    package var brief: String {
        "\(self.reason) \(self.object).\(self.property?.rawValue ?? 0) (revision \(self.revision?.rawValue ?? 0), session \(self.sessionNumber ?? 0))"
    }
}
