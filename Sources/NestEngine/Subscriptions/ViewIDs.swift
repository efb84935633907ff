import NestModel

/// Gives ids to views, in turn. After the last comes the first again that is not in use: a connection has a bounded number
/// of subscriptions, so there always is one.
package struct ViewIDs {
    private var next: UInt32

    package init(next: UInt32 = Limits.viewIDMin) {
        precondition(next >= Limits.viewIDMin)
        self.next = next
    }

    package mutating func take(isInUse: (UInt32) -> Bool) -> UInt32 {
        while true {
            let id = self.next
            self.next = id == .max ? Limits.viewIDMin : id + 1
            if !isInUse(id) { return id }
        }
    }
}
