/// One difference between a model and the model that a store was made with.
public struct ModelDifference: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// No stored value is lost or becomes invalid: the store can be migrated.
        case migratable
        /// Migratable if no stored object violates it; the migration checks this.
        case dependsOnData
        /// Removes a part of the model. Migratable if nothing in the store is lost, or if the loss is allowed.
        case removal(RemovedPart)
        /// Refused: stored values would be lost or could become invalid.
        case refused
    }

    public enum Change: String, Sendable {
        case added, changed, removed
    }

    /// A part of the stored model that the wanted model does not have, with its stored numbers. A property is named by
    /// the entity that declares it, a relationship also stands for its inverse.
    public enum RemovedPart: Hashable, Sendable {
        case entity(EntityNumber)
        case attribute(EntityNumber, PropertyNumber)
        case relationship(EntityNumber, PropertyNumber)
        /// The order of a relationship, which stays.
        case order(EntityNumber, PropertyNumber)
    }

    public var kind: Kind
    public var change: Change
    /// The difference, for people.
    public var text: String
    /// Whether a server can make the change while clients are connected: it only adds, or changes what may be stored,
    /// and the rows of other parts stay as they are.
    public var isLive = true

    public var removedPart: RemovedPart? {
        if case .removal(let part) = self.kind { part } else { nil }
    }
}

extension ManagedObjectModel {
    /// Returns all differences between this model and the stored one. Both must be numbered alike (`renumbered`).
    public func differences(from stored: ManagedObjectModel) -> [ModelDifference] {
        var comparison = ModelComparison(stored: stored, wanted: self)
        comparison.compare()
        return comparison.differences
    }
}

private struct ModelComparison {
    let stored: ManagedObjectModel
    let wanted: ManagedObjectModel
    var differences: [ModelDifference] = []

    private mutating func add(
        _ kind: ModelDifference.Kind,
        _ text: String,
        _ change: ModelDifference.Change = .changed,
        isLive: Bool = true
    ) {
        let difference = ModelDifference(kind: kind, change: change, text: text, isLive: isLive && kind == .migratable)
        // Inherited properties occur in several entities; report them once.
        if !self.differences.contains(difference) { self.differences.append(difference) }
    }

    mutating func compare() {
        for old in self.stored.entities {
            guard let new = self.wanted.entity(old.number) else {
                self.add(.removal(.entity(old.number)), "the entity \(old.name) is gone", .removed)
                continue
            }
            self.compare(old, new)
        }
        for new in self.wanted.entities where self.stored.entity(new.number) == nil {
            let above = new.parent.flatMap { self.wanted.entity($0) }
            let isBelowOld = above.map { self.stored.entity($0.number) != nil } ?? false
            let place = isBelowOld ? ", below \(above!.name)" : ""
            self.add(
                .migratable,
                "the entity \(new.name) is new\(place)",
                .added,
                isLive: !isBelowOld && new.root == nil
            )
        }
        self.compareRequests()
    }

    /// Named requests are texts: a store does not depend on them.
    private mutating func compareRequests() {
        let before = Dictionary(self.stored.requests.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        for request in self.wanted.requests where before[request.name] != request {
            let isNew = before[request.name] == nil
            self.add(
                .migratable,
                "the request \(request.name) \(isNew ? "is new" : "changed")",
                isNew ? .added : .changed
            )
        }
        let names = Set(self.wanted.requests.map(\.name))
        for request in self.stored.requests where !names.contains(request.name) {
            self.add(.migratable, "the request \(request.name) is gone", .removed)
        }
    }

    private mutating func compare(_ old: EntityDescription, _ new: EntityDescription) {
        if !old.name.hasSameBytes(as: new.name) {
            self.add(.migratable, "the entity \(old.name) is now \(new.name)", isLive: false)
        }
        if old.parent != new.parent {
            self.add(
                .refused,
                "\(new.name): its parent entity changed: its objects would have to move to another table"
            )
        }
        if !old.isAbstract, new.isAbstract { self.add(.dependsOnData, "\(new.name) is now abstract") }
        if old.isAbstract, !new.isAbstract {
            self.add(.migratable, "\(new.name) is no longer abstract", isLive: false)
        }
        if old.root != new.root { self.add(.refused, "\(new.name): its root object changed") }
        if old.label != new.label { self.add(.migratable, "\(new.name): its label changed") }
        if Set(old.indexes) != Set(new.indexes) { self.add(.migratable, "\(new.name): its indexes changed") }
        for unique in new.uniquenessConstraints where !old.uniquenessConstraints.contains(unique) {
            let names = unique.compactMap { new.propertyName($0) }.joined(separator: ", ")
            self.add(.dependsOnData, "\(new.name): \(names) must now be unique")
        }
        for unique in old.uniquenessConstraints where !new.uniquenessConstraints.contains(unique) {
            let names = unique.compactMap { old.propertyName($0) }.joined(separator: ", ")
            self.add(.migratable, "\(new.name): \(names) need no longer be unique")
        }
        // The parent reports properties that are and were inherited.
        let parent = old.parent.flatMap { self.stored.entity($0) }
        let above = new.parent.flatMap { self.wanted.entity($0) }
        func isInherited(_ number: PropertyNumber) -> Bool {
            parent?.propertyName(number) != nil && above?.propertyName(number) != nil
        }
        for attribute in old.attributes where !isInherited(attribute.number) {
            if let now = new.attribute(attribute.number) {
                self.compare(attribute, now, new.name)
            } else if parent?.attribute(attribute.number) == nil {
                let part = ModelDifference.RemovedPart.attribute(old.number, attribute.number)
                let keepers = self.wanted.entities.filter {
                    self.wanted.isKind($0.number, of: new.number) && $0.attribute(attribute.number) != nil
                }
                let state = keepers.isEmpty ? "gone" : "now only in \(keepers.map(\.name).joined(separator: ", "))"
                self.add(.removal(part), "\(new.name).\(attribute.name) is \(state)", .removed)
            }
        }
        for relationship in old.relationships where !isInherited(relationship.number) {
            if let now = new.relationship(relationship.number) {
                self.compare(relationship, now, new)
            } else if parent?.relationship(relationship.number) == nil, !self.isReportedByInverse(relationship, of: old)
            {
                let part = ModelDifference.RemovedPart.relationship(old.number, relationship.number)
                self.add(.removal(part), "\(new.name).\(relationship.name) is gone", .removed)
            }
        }
        for attribute in new.attributes
        where old.propertyName(attribute.number) == nil && above?.attribute(attribute.number) == nil {
            let isFilled = attribute.isOptional || !attribute.defaultValue.isNull || attribute.defaultsToNow
            self.add(
                isFilled ? .migratable : .dependsOnData,
                "\(new.name).\(attribute.name) is new" + (isFilled ? "" : ", required and without a default"),
                .added
            )
        }
        for relationship in new.relationships
        where old.propertyName(relationship.number) == nil && above?.relationship(relationship.number) == nil
            && !relationship.isHiddenInverse
        {
            let isFree = relationship.isOptional && relationship.minimumCount == 0
            self.add(
                isFree ? .migratable : .dependsOnData,
                "\(new.name).\(relationship.name) is new" + (isFree ? "" : " and required"),
                .added
            )
        }
    }

    /// Whether the removal of a relationship is reported for its inverse, which is gone too: that of the entity with
    /// the lower number, of relationships of one entity that with the lower number, but not that of a hidden inverse.
    private func isReportedByInverse(_ relationship: RelationshipDescription, of entity: EntityDescription) -> Bool {
        guard let inverse = self.stored.inverse(of: relationship),
            let owner = self.stored.lineage(of: relationship.destination)
                .last(where: { $0.relationship(inverse.number) != nil }),
            let now = self.wanted.entity(owner.number), now.relationship(inverse.number) == nil
        else { return false }
        if relationship.isHiddenInverse != inverse.isHiddenInverse { return relationship.isHiddenInverse }
        return (owner.number, inverse.number) < (entity.number, relationship.number)
    }

    private mutating func compare(_ old: AttributeDescription, _ new: AttributeDescription, _ entity: String) {
        let name = "\(entity).\(new.name)"
        if !old.name.hasSameBytes(as: new.name) {
            self.add(.migratable, "\(entity).\(old.name) is now \(name)", isLive: false)
        }
        if old.type != new.type {
            self.add(
                new.type.holds(old.type) ? .migratable : .refused,
                "\(name) was \(old.type) and is now \(new.type)",
                isLive: false
            )
        }
        if old.isOptional, !new.isOptional { self.add(.refused, "\(name) was optional and is now required") }
        if !old.isOptional, new.isOptional { self.add(.migratable, "\(name) is now optional") }
        if old.defaultValue != new.defaultValue || old.defaultsToNow != new.defaultsToNow {
            self.add(.migratable, "\(name) has a different default")
        }
        self.compareBounds(old, new, name)
        if old.pattern != new.pattern {
            self.add(
                new.pattern == nil ? .migratable : .dependsOnData,
                new.pattern.map { "\(name) must now match \(FetchPredicate.quoted($0))" }
                    ?? "\(name) need no longer match a regular expression"
            )
        }
    }

    private mutating func compareBounds(_ old: AttributeDescription, _ new: AttributeDescription, _ name: String) {
        guard old.minimum != new.minimum || old.maximum != new.maximum else { return }
        // Bounds that allow the old bounds allow everything between them.
        func isWider() -> Bool {
            if !new.minimum.isNull, old.minimum.isNull || Self.isLess(old.minimum, new.minimum) { return false }
            if !new.maximum.isNull, old.maximum.isNull || Self.isLess(new.maximum, old.maximum) { return false }
            return true
        }
        self.add(
            isWider() ? .migratable : .refused,
            "\(name) has different bounds" + (isWider() ? "" : ", which are narrower")
        )
    }

    private static func isLess(_ a: AttributeValue, _ b: AttributeValue) -> Bool {
        switch (a, b) {
        case (.integer(let a), .integer(let b)): a < b
        case (.double(let a), .double(let b)): a < b
        case (.date(let a), .date(let b)): a < b
        case (.string(let a), .string(let b)): DecimalText.isLess(a, b)
        default: true
        }
    }

    /// A relationship keeps its number if its inverse does, also if it has another name or is hidden now.
    private mutating func compareNames(
        _ old: RelationshipDescription,
        _ new: RelationshipDescription,
        _ entity: EntityDescription
    ) {
        guard !old.name.hasSameBytes(as: new.name) else { return }
        switch (old.isHiddenInverse, new.isHiddenInverse) {
        case (true, true): break
        case (true, false):
            // A hierarchy has no circles; without it there may be some.
            let isHierarchy = self.wanted.hasSubtrees(of: entity, by: new)
            let text = "\(entity.name).\(new.name) is new, as the inverse of a one-way relationship"
            self.add(isHierarchy ? .dependsOnData : .migratable, text, .added, isLive: false)
        case (false, true):
            let text = "\(entity.name).\(old.name) is now a hidden inverse"
            self.add(.migratable, text, .removed, isLive: false)
        case (false, false):
            let text = "\(entity.name).\(old.name) is now \(entity.name).\(new.name)"
            self.add(.migratable, text, isLive: false)
        }
    }

    private mutating func compare(
        _ old: RelationshipDescription,
        _ new: RelationshipDescription,
        _ entity: EntityDescription
    ) {
        let name = "\(entity.name).\(new.isHiddenInverse ? old.name : new.name)"
        self.compareNames(old, new, entity)
        if old.destination != new.destination || old.inverse != new.inverse {
            self.add(.refused, "\(name) has a different destination or inverse")
        }
        if old.isToMany != new.isToMany {
            self.add(
                .refused,
                "\(name) was \(old.isToMany ? "to-many" : "to-one") and is now \(new.isToMany ? "to-many" : "to-one")"
            )
        } else if !old.isOrdered, new.isOrdered {
            self.add(.migratable, "\(name) is now ordered", isLive: false)
        } else if old.isOrdered, !new.isOrdered {
            self.add(.removal(.order(entity.number, old.number)), "\(name) is no longer ordered", .removed)
        }
        if old.deleteRule != new.deleteRule {
            self.add(.migratable, "\(name) has a different delete rule")
        }
        let isNarrower =
            (old.isOptional && !new.isOptional) || new.minimumCount > old.minimumCount
            || (new.maximumCount > 0 && (old.maximumCount == 0 || new.maximumCount < old.maximumCount))
        let isChanged =
            old.isOptional != new.isOptional || old.minimumCount != new.minimumCount
            || old.maximumCount != new.maximumCount
        if isNarrower {
            self.add(.refused, "\(name) is now required, or has narrower bounds")
        } else if isChanged {
            self.add(.migratable, "\(name) has wider bounds")
        }
    }
}
