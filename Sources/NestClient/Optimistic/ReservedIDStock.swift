import NIOConcurrencyHelpers
import NestModel

/// Reserved ids for the inserts of an optimistic client, so that an object has its id before the server has seen it.
final class ReservedIDStock: Sendable {
    private struct Contents {
        var ids: [ObjectID] = []
        var isAsking = false
    }

    private let size: Int
    private let contents = NIOLockedValueBox(Contents())

    init(size: Int) {
        self.size = size
    }

    /// Takes ids, the lowest first, or returns `nil` if there are not enough.
    func take(_ count: Int) -> [ObjectID]? {
        self.contents.withLockedValue { contents in
            guard contents.ids.count >= count else { return nil }
            defer { contents.ids.removeLast(count) }
            return contents.ids.suffix(count).reversed()
        }
    }

    func add(_ ids: [ObjectID]) {
        self.contents.withLockedValue { contents in
            contents.isAsking = false
            // A stack: the lowest id is the last.
            contents.ids = (contents.ids + ids).sorted(by: >)
        }
    }

    var isEmpty: Bool { self.contents.withLockedValue { $0.ids.isEmpty } }

    /// Forgets all ids: those of another history may be objects in this one.
    func clear() { self.contents.withLockedValue { $0.ids = [] } }

    func askingFailed() { self.contents.withLockedValue { $0.isAsking = false } }

    /// Returns how many ids to reserve now: none, unless less than half of the stock is left. The caller then asks.
    func wanted() -> Int {
        self.contents.withLockedValue { contents in
            guard !contents.isAsking, contents.ids.count < (self.size + 1) / 2 else { return 0 }
            contents.isAsking = true
            return self.size
        }
    }
}
