import NestModel

/// Moves a window by keys.
extension FetchWindow {
    /// Returns the window after a key, or `nil` if the key does not move the window. `state` is the state that the
    /// window shows.
    func scrolled(_ key: TerminalKey, _ state: SectionedSnapshot) -> FetchWindow? {
        switch self {
        case .range(let offset, let limit):
            let total = state.window?.total ?? state.total
            let last = max(total - min(limit, total), 0)
            let wanted: Int
            switch key {
            case .up: wanted = offset - 1
            case .down: wanted = offset + 1
            case .pageUp: wanted = offset - min(limit, total)
            case .pageDown: wanted = offset + min(limit, total)
            case .home: wanted = 0
            case .end: wanted = last
            case .space: return nil
            }
            let first = min(max(wanted, 0), last)
            return first == offset ? nil : .range(offset: first, limit: limit)
        case .around(let followed, let before, let after):
            let rows = state.sections.flatMap(\.rows)
            guard let index = rows.firstIndex(where: { $0.id == followed }) else { return nil }
            let wanted: Int
            switch key {
            case .up: wanted = index - 1
            case .down: wanted = index + 1
            case .pageUp, .home: wanted = 0
            case .pageDown, .end: wanted = rows.count - 1
            case .space: return nil
            }
            guard rows.indices.contains(wanted), wanted != index else { return nil }
            return .around(rows[wanted].id, before: before, after: after)
        }
    }

    /// Returns the same window, around the object that it follows now.
    func following(_ anchor: ObjectID?) -> FetchWindow {
        guard let anchor, case .around(_, let before, let after) = self else { return self }
        return .around(anchor, before: before, after: after)
    }
}
