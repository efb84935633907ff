import NestLiveQuery
import NestModel
import NestStore

/// All live results, and which of them a change can concern.
struct ResultRegistry {
    final class Entry {
        let key: ResultKey
        let result: LiveResult
        var views: [UInt32: View] = [:]
        /// Since when nobody has subscribed.
        var unusedSince: Int64?

        init(key: ResultKey, result: LiveResult, now: Int64) {
            self.key = key
            self.result = result
            self.unusedSince = now
        }
    }

    /// The part of a request's predicate that is constant: rows of an entity whose slot holds this owner.
    private struct Route: Hashable {
        var entity: EntityNumber
        var slot: Int
        var owner: ObjectID
    }

    private var entries: [ResultKey: Entry] = [:]
    private var routes: [Route: [Entry]] = [:]
    /// Slots that any result reads, by entity: what a change is looked up by.
    private var slots: [EntityNumber: [Int: Int]] = [:]

    var count: Int { self.entries.count }
    var all: some Collection<Entry> { self.entries.values }
    var isEmpty: Bool { self.entries.isEmpty }

    subscript(_ key: ResultKey) -> Entry? { self.entries[key] }

    mutating func insert(_ entry: Entry) {
        let source = entry.key.source
        self.entries[entry.key] = entry
        self.routes[Route(entity: source.entity, slot: source.slot, owner: source.owner), default: []].append(entry)
        self.slots[source.entity, default: [:]][source.slot, default: 0] += 1
    }

    mutating func remove(_ key: ResultKey) {
        guard let entry = self.entries.removeValue(forKey: key) else { return }
        let source = key.source
        let route = Route(entity: source.entity, slot: source.slot, owner: source.owner)
        self.routes[route]?.removeAll { $0 === entry }
        if self.routes[route]?.isEmpty ?? false { self.routes[route] = nil }
        let left = (self.slots[source.entity]?[source.slot] ?? 1) - 1
        self.slots[source.entity]?[source.slot] = left > 0 ? left : nil
    }

    /// Whether any result is of this entity.
    func concerns(_ entity: EntityNumber) -> Bool { !(self.slots[entity]?.isEmpty ?? true) }

    /// Calls `body` with each result that an object was in or is in. O(1) in the number of results that it is not.
    func forEachCandidate(_ object: TouchedObject, _ body: (Entry) -> Void) {
        guard let slots = self.slots[object.entity] else { return }
        for slot in slots.keys {
            let before = object.before?.values[slot].referenceValue
            let after = object.after?.values[slot].referenceValue
            if let before { self.forEach(object.entity, slot, before, body) }
            if let after, after != before { self.forEach(object.entity, slot, after, body) }
        }
    }

    func forEach(_ entity: EntityNumber, _ slot: Int, _ owner: ObjectID, _ body: (Entry) -> Void) {
        for entry in self.routes[Route(entity: entity, slot: slot, owner: owner)] ?? [] { body(entry) }
    }
}
