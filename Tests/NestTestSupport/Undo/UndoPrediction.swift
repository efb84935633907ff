import NestModel

/// What a conflict that is told may look like. Where one thing can be seen from two sides, or be called one or the other,
/// the contract leaves the choice.
package struct ConflictLaw: CustomStringConvertible {
    package var reasons: Set<UndoConflict.Reason>
    package var objects: Set<ObjectID>
    /// `nil`: any, or the whole object.
    package var properties: Set<PropertyNumber>?
    /// It must be told; otherwise it may.
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

/// What the contract says that an undo does, now.
package struct UndoPrediction {
    /// Afterwards. The places in ordered lists are likely ones: `placed` says which objects the laws of order are for.
    package var graph: NaiveGraph
    package var marks: PlacementMarks
    package var conflicts: [ConflictLaw] = []
    /// Not empty: it is refused with one of these.
    package var refusals: Set<ErrorCode> = []
    /// It may be refused with one of these.
    package var possibleRefusals: Set<ErrorCode> = []
    /// What the contract leaves open: then only the laws hold that hold for every undo.
    package var openings: [String] = []
    /// Objects that the undo puts into ordered lists.
    package var placed: Set<PlacementMarks.Side> = []
    /// Slots that hold something else than the transaction gave them: of an entry of several, older ones leave them too.
    package var left: Set<UndoSlot> = []
    /// Those of them that come last, under another owner.
    package var rehomed: Set<PlacementMarks.Side> = []

    package init(graph: NaiveGraph, marks: PlacementMarks) {
        self.graph = graph
        self.marks = marks
    }

    package var isOpen: Bool { !self.openings.isEmpty }

    /// What may be told, and all that must be: in words what is wrong with what was told.
    package func faults(of conflicts: UndoConflicts) -> [String] {
        guard !self.isOpen else { return [] }
        var faults: [String] = []
        for conflict in conflicts.listed where !self.conflicts.contains(where: { $0.allows(conflict) }) {
            faults.append("told of \(conflict.brief)")
        }
        if conflicts.listed.count == conflicts.count {
            for law in self.conflicts where law.isRequired && !conflicts.listed.contains(where: { law.allows($0) }) {
                faults.append("not told of \(law)")
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
