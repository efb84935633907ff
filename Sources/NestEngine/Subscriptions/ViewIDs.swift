import NestModel
import NestProtocol

/// Assigns ids to views and change subscriptions, ascending. After the last id, it assigns the first that is not in
/// use. A connection has a limited number of subscriptions, so there always is one.
package final class ViewIDs {
    private var next: UInt32
    private var inUse: Set<UInt32> = []

    package init(next: UInt32 = Limits.viewIDMin) {
        precondition(next >= Limits.viewIDMin)
        self.next = next
    }

    package func take() -> UInt32 {
        while true {
            let id = self.next
            self.next = id == .max ? Limits.viewIDMin : id + 1
            if self.inUse.insert(id).inserted { return id }
        }
    }

    package func release(_ id: UInt32) { self.inUse.remove(id) }
}
