import NestModel

/// One subscription to changes, over all connections.
///
///     detached ──connected──▶ subscribing ──SUBSCRIBED──▶ live ──connection lost──▶ detached
package struct ChangeFeed: Sendable {
    package let subscriber: SubscriberID
    package let entities: [EntityNumber]
    package var phase = Subscription.Phase.detached
    /// Everything up to here has been handed to the subscriber; `nil` until the server has said where it begins.
    package var head: ResumePoint?
    /// The place in the change set after the head that the subscriber's last part of it named; 0 between change sets.
    package var place = 0
    /// The subscriber has been told where it begins.
    package var hasBegun = false

    package init(subscriber: SubscriberID, since: ResumePoint?, entities: [EntityNumber]) {
        self.subscriber = subscriber
        self.head = since
        self.entities = entities
    }
}
