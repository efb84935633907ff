import NestModel
import NestTestSupport

/// Random windows, and random changes of a request, as when a user scrolls, searches or sorts.
extension SeededRandom {
    /// Returns a window of a result with these rows.
    mutating func window(_ ids: [ObjectID]) -> FetchWindow {
        if self.below(5) > 1, let id = ids.randomElement(using: &self) {
            return .around(id, before: self.reach(), after: self.reach())
        }
        return .range(offset: self.oneIn(3) ? 0 : self.below(ids.count + 3), limit: self.reach())
    }

    private mutating func reach() -> Int {
        switch self.below(12) {
        case 0: 0
        case 1: 1_000_000
        default: 1 + self.below(6)
        }
    }

    /// Returns a request for all or a part of the same rows.
    mutating func part(_ request: ObjectFetchRequest, of ids: [ObjectID]) -> ObjectFetchRequest {
        var request = request
        request.window = self.oneIn(2) ? nil : self.window(ids)
        return request
    }

    /// Returns a request for other rows of the same result.
    mutating func scrolled(_ request: ObjectFetchRequest, of ids: [ObjectID]) -> ObjectFetchRequest {
        var request = request
        switch request.window {
        case .range(let offset, let limit) where self.below(3) > 0:
            let step = self.oneIn(2) ? 1 : 1 + self.below(max(min(limit, 20), 1))
            request.window = .range(
                offset: max(0, self.oneIn(3) ? offset - step : offset + step),
                limit: self.oneIn(3) ? self.reach() : limit
            )
        case .around(_, let before, let after) where self.oneIn(2):
            if let id = ids.randomElement(using: &self) { request.window = .around(id, before: before, after: after) }
        default:
            request.window = self.oneIn(6) ? nil : self.window(ids)
        }
        return request
    }

    enum Change: CaseIterable {
        case scroll, predicate, order, columns, anything
    }

    mutating func changed(_ request: ObjectFetchRequest, _ change: Change, _ scene: Scene) -> ObjectFetchRequest? {
        guard let entity = scene.model.entity(request.entity) else { return nil }
        var changed = request
        switch change {
        case .scroll:
            return self.scrolled(request, of: scene.naive.order(request))
        case .predicate:
            // The predicate names the list, so the order depends on it.
            guard request.source != nil || request.sort != [.order] else { return nil }
            changed.predicate = self.oneIn(3) ? .everything : self.predicate(scene, of: entity) ?? .everything
        case .order:
            (changed.sort, changed.section) = ([], nil)
            self.addSort(scene, entity, to: &changed)
        case .columns:
            let some = [.entity] + entity.storedProperties + request.columns.indices.map { .computed($0) }
            changed.projection = Array(some.shuffled(using: &self).prefix(1 + self.below(5)))
        case .anything:
            guard let other = self.request(scene) else { return nil }
            changed = other
        }
        let ids = scene.naive.order(changed)
        if self.oneIn(2) || changed.window?.object.map({ !ids.contains($0) }) ?? false {
            changed.window = self.oneIn(4) ? nil : self.window(ids)
        }
        return changed
    }
}
