import NestModel

/// A subscription to changes, across all connections.
///
///     detached ──connected──▶ subscribing ──SUBSCRIBED──▶ live ──connection lost──▶ detached
package struct ChangeFeed: Sendable {
    package let subscriber: SubscriberID
    package let entities: [EntityNumber]
    package var phase = Subscription.Phase.detached
    /// The subscriber has received everything up to here. `nil` until the server has sent the starting point.
    package var head: ResumePoint?
    /// The cursor in the change set after the head, from the last part that the subscriber received; 0 between change
    /// sets.
    package var place = 0
    /// Whether the subscriber has received the starting point.
    package var hasBegun = false

    package init(subscriber: SubscriberID, since: ResumePoint?, entities: [EntityNumber]) {
        self.subscriber = subscriber
        self.head = since
        self.entities = entities
    }
}
