import NestModel

/// Random stores of random models.
extension SeededRandom {
    package mutating func appStore(objects count: Int = 30) -> AppStore {
        var draft = self.modelDraft()
        for index in draft.entities.indices {
            draft.entities[index].uniquenessConstraints = []
            draft.entities[index].root = nil
            for attribute in draft.entities[index].attributes.indices {
                draft.entities[index].attributes[attribute].minimum = .null
                draft.entities[index].attributes[attribute].maximum = .null
            }
            for relationship in draft.entities[index].relationships.indices {
                draft.entities[index].relationships[relationship].isOptional = true
                draft.entities[index].relationships[relationship].minimumCount = 0
                draft.entities[index].relationships[relationship].maximumCount = 0
            }
        }
        var store = AppStore(draft)
        self.shareNames(&store)
        self.addObjects(to: &store, count)
        for pair in store.pairs { self.addLinks(to: &store, pair.owner, pair.there, pair.back) }
        return store
    }

    /// Gives attributes of entities in one table the same name, where none of the entities is above the other.
    private mutating func shareNames(_ store: inout AppStore) {
        for a in store.draft.entities.indices where self.oneIn(2) {
            for b in store.draft.entities.indices where a != b {
                let (one, other) = (store.draft.entities[a], store.draft.entities[b])
                guard store.table(one.name) == store.table(other.name), !store.lineage(one.name).contains(other.name),
                    !store.lineage(other.name).contains(one.name), let first = one.attributes.first,
                    let second = other.attributes.first, second.name.hasPrefix("e"), first.name.hasPrefix("e")
                else { continue }
                for index in [a, b] { Self.rename(&store.draft.entities[index], to: "same\(a)") }
            }
        }
    }

    private static func rename(_ entity: inout EntityDraft, to name: String) {
        let old = entity.attributes[0].name
        entity.attributes[0].name = name
        entity.indexes = entity.indexes.map { $0.map { $0 == old ? name : $0 } }
        if entity.label == old { entity.label = name }
    }

    private mutating func addObjects(to store: inout AppStore, _ count: Int) {
        let tables = Set(store.draft.entities.map { store.table($0.name) }).sorted()
        for table in tables {
            let kinds = store.draft.entities.filter { store.table($0.name) == table && !$0.isAbstract }.map(\.name)
            guard !kinds.isEmpty else { continue }
            var number: Int64 = 0
            for _ in 0..<self.below(count) {
                // Deleted objects leave gaps.
                number += 1 + Int64(self.oneIn(4) ? self.below(5) : 0)
                var object = AppStore.Object(entity: self.pick(kinds))
                for (owner, attribute) in store.attributes(object.entity) {
                    if attribute.type == .data, self.oneIn(2) {
                        store.externalData.insert("\(owner).\(attribute.name)")
                    }
                    if attribute.isOptional, self.oneIn(4) { continue }
                    object.values[attribute.name] = self.storedValue(of: attribute.type)
                }
                store.objects[.init(table: table, number: number)] = object
            }
        }
    }

    /// Returns a value that Core Data's file holds exactly.
    private mutating func storedValue(of type: AttributeType) -> AttributeValue {
        switch type {
        case .decimal:
            let number = Int64(self.below(1_000_000_000)) - 500_000_000
            let text = "\(number).\(self.below(100_000))"
            return .string(DecimalText.canonical(text)!)
        case .date: return .date((Int64(self.below(1 << 40)) - 1 << 38) * 125_000)
        default: return self.keptValue(of: type)
        }
    }

    private mutating func addLinks(
        to store: inout AppStore,
        _ owner: String,
        _ there: RelationshipDraft,
        _ back: RelationshipDraft?
    ) {
        let owners = store.keys(owner).shuffled(using: &self)
        let others = store.keys(there.destination)
        guard !owners.isEmpty, !others.isEmpty else { return }
        switch (there.isToMany, back?.isToMany) {
        case (false, nil), (false, true):
            let isHierarchy = back != nil && store.table(owner) == store.table(there.destination)
            for child in owners where !self.oneIn(4) {
                let found = self.pick(others)
                if isHierarchy, found >= child { continue }
                store.link(child, there, found, back)
            }
            self.addDangling(to: &store, owner, there, owners)
        case (true, false): self.addLinks(to: &store, there.destination, back!, there)
        case (false, false): self.addCouples(to: &store, owners, there, others, back!)
        case (true, nil):
            let form: AppStore.OneWayForm = self.oneIn(2) ? .column : .table
            store.oneWayForms["\(owner).\(there.name)"] = form
            for other in others.shuffled(using: &self) {
                for a in Array(owners.prefix(form == .column ? 1 : 3)) where !self.oneIn(3) {
                    store.link(form == .column ? self.pick(owners) : a, there, other, nil)
                }
            }
        case (true, true):
            let isSymmetric = owner == there.destination && there.name == back!.name
            for a in owners {
                for b in others.shuffled(using: &self) where self.oneIn(6) && !(isSymmetric && b <= a) {
                    store.link(a, there, b, back)
                }
            }
        }
        for key in store.objects.keys {
            if !there.isOrdered { store.objects[key]!.links[there.name]?.sort() }
            if let back, !back.isOrdered { store.objects[key]!.links[back.name]?.sort() }
        }
    }

    private mutating func addCouples(
        to store: inout AppStore,
        _ owners: [AppStore.Key],
        _ there: RelationshipDraft,
        _ others: [AppStore.Key],
        _ back: RelationshipDraft
    ) {
        var free = others.shuffled(using: &self)
        for a in owners where !self.oneIn(3) {
            guard let b = free.popLast() else { return }
            // In a relationship that is its own inverse, both must be free.
            let isSame = there.name == back.name
            if isSame, a == b || store.objects[a]!.links[there.name] != nil || store.objects[b]!.links[back.name] != nil
            {
                continue
            }
            store.link(a, there, b, back)
        }
    }

    private mutating func addDangling(
        to store: inout AppStore,
        _ owner: String,
        _ there: RelationshipDraft,
        _ owners: [AppStore.Key]
    ) {
        for key in owners where store.objects[key]!.links[there.name] == nil && self.oneIn(6) {
            store.dangling.append(("\(owner).\(there.name)", key, 1_000 + Int64(self.below(9))))
        }
    }
}
