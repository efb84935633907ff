import NestModel
import NestProtocol

/// Gives ids to views and change subscriptions, in turn. After the last id comes the first that is not in use; a
/// connection has a bounded number of subscriptions, so there always is one.
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

    package func giveBack(_ id: UInt32) { self.inUse.remove(id) }
}
