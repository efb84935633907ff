import NestEngine
import NestModel
import NestTestSupport
import Testing

/// Windows and changes of subscriptions.
extension SimulatedClient {
    /// Returns the request as the client sends it now: a window around an object names the object that it follows.
    func named(_ fetch: ObjectFetchRequest) -> ObjectFetchRequest {
        var named = fetch
        if let anchor = self.subscriptions[fetch]?.state?.window?.anchor {
            named.window = fetch.window?.around(anchor)
        }
        return named
    }

    /// Returns a request to change a subscription to another fetch request.
    func change(_ old: ObjectFetchRequest, to new: ObjectFetchRequest) -> EngineInput? {
        guard let view = self.subscriptions[old]?.view,
            !self.pendingChanges.values.contains(where: { [$0.old, $0.new].contains(old) || $0.new == new })
        else { return nil }
        let (id, input) = self.request(.resubscribe(view: view, new))
        self.pendingChanges[id] = (old, new)
        return input
    }

    /// Handles the answer to a change of a subscription. Returns false for any other reply.
    func takeChange(_ reply: EngineReply, _ requestID: UInt32, _ what: String) throws -> Bool {
        guard let (old, new) = self.pendingChanges.removeValue(forKey: requestID) else { return false }
        self.changeAnswers.append((old, new, reply))
        guard case .subscribed(let view, let first, _, let projection) = reply else { return true }
        let found = self.subscriptions.removeValue(forKey: old)
        var was = try #require(found, "\(what): the client has ended this subscription")
        if case .current(let revision) = first {
            #expect(was.view == view && was.projection == projection, "\(what): current as another view")
            was.state?.revision = revision
            self.subscriptions[new] = was
            return true
        }
        #expect(was.view != view, "\(what): the same view, but \(first)")
        if was.holds > 1 {
            was.holds -= 1
            self.subscriptions[old] = was
        }
        if self.subscriptions[new] != nil {
            #expect(first == .alreadySubscribed && self.subscriptions[new]!.view == view, "\(what): \(first)")
            self.subscriptions[new]!.holds += 1
            return true
        }
        var changed = Subscription(number: was.number, view: view, state: was.state, projection: projection)
        changed.followed = [new.window?.object]
        if first == .snapshot { changed.state = nil }
        if first == .difference { #expect(was.projection == projection, "\(what): a difference with other columns") }
        changed.awaitsDifference = first == .difference
        if first == .alreadySubscribed {
            let other = self.subscriptions.first { $0.value.view == view }
            changed.state = try #require(other, "\(what): no other subscription").value.state
        }
        self.subscriptions[new] = changed
        return true
    }

    func take(_ position: WindowPosition, _ revision: Revision, for fetch: ObjectFetchRequest, _ what: String) throws {
        let held = self.subscriptions[fetch]!.state
        let state = try #require(held, "\(what): a position before the snapshot")
        #expect(fetch.window != nil, "\(what): a position for a subscription without a window")
        #expect(position.anchor == state.window?.anchor, "\(what): another anchor without a diff")
        self.subscriptions[fetch]!.state!.window = position
        self.subscriptions[fetch]!.isPositionSent = true
    }

    /// Records the states that the client holds when the server reports that it has sent everything up to a revision.
    func claim(_ revision: Revision) {
        let held = self.subscriptions.filter { $0.value.view != nil }.compactMapValues(\.state)
        self.claims.append((revision, held))
    }
}
