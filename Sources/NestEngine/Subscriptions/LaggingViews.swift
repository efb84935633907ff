import DequeModule
import NestModel

/// Subscriptions that were not sent a batch although their connections are not blocked: windows above the work limit of
/// a batch, and views of results that are read anew.
///
/// Until such a subscription has caught up, its connection gets neither progress marks nor the replies to its writes.
package final class LaggingViews {
    private let connections: EngineConnections
    private let workMax: Int
    /// The work of this batch's windows so far.
    private var work = 0
    /// The subscriptions that can catch up, oldest first.
    private var queue: Deque<(connection: ConnectionID, view: UInt32)> = []

    package init(_ connections: EngineConnections, workMax: Int) {
        self.connections = connections
        self.workMax = workMax
    }

    package var isEmpty: Bool { self.queue.isEmpty }

    package func beginTurn() { self.work = 0 }

    /// Returns whether the batch may still push a window, and counts the work if so. `changeCount`: the number of rows
    /// that the batch has changed.
    package func takeWork(changeCount: Int) -> Bool {
        guard self.work < self.workMax else { return false }
        self.work += 4 + changeCount
        return true
    }

    /// Lets a subscription lag until its result has been read.
    func lag(_ id: ConnectionID, _ view: View, _ state: SubscriptionState) {
        view.subscribers[id] = state
        self.connections[id]?.laggingViews.insert(view.id)
    }

    /// Lets subscriptions lag that can catch up at once, in their turn.
    func fallBehind(_ ids: [ConnectionID], _ view: View, _ state: SubscriptionState) {
        for id in ids {
            guard let connection = self.connections[id] else { continue }
            view.subscribers[id] = state
            connection.laggingViews.insert(view.id)
            self.append(id, view.id)
        }
    }

    /// Queues a lagging subscription that can catch up now.
    package func append(_ id: ConnectionID, _ view: UInt32) { self.queue.append((id, view)) }

    /// Takes the subscription that has waited longest. A blocked connection catches up when it drains.
    package func next() -> (connection: EngineConnection, view: UInt32)? {
        while let (id, view) = self.queue.popFirst() {
            guard let connection = self.connections[id], connection.laggingViews.remove(view) != nil,
                !connection.isBlocked
            else { continue }
            return (connection, view)
        }
        return nil
    }
}
