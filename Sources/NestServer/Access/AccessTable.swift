import NIOConcurrencyHelpers
import NIOCore
import NestEngine
import NestModel
import NestSecrets
import NestStore
import NestProtocol

/// The rights and limits of a connection.
package struct Access: Sendable {
    /// The number of the token that the client logged in with; `nil` without a token.
    package var token: UInt64?
    package var role = AccessRole.admin
    package var confinement: AccessConfinement?
    package var limits = TokenLimits()
    /// The label of the token, or what a client without a token says.
    package var user: UserLabel?
    /// When the token ends, in microseconds since 1970-01-01 UTC; `nil`: never.
    package var expires: Int64?
    /// Whether the connection is another node's.
    package private(set) var isNode = false

    package init() {}

    /// The access of a node's own connection: its clients have their own, by their ports.
    package static let node = {
        var access = Access()
        access.isNode = true
        return access
    }()

    package init(_ token: TokenDescription) {
        self.token = token.number
        self.role = token.grant.role
        self.confinement = token.grant.confinement
        self.limits = token.grant.limits
        self.user = token.grant.label
        self.expires = token.grant.expires
    }

    /// The access of a client without a token. `user`: what it says.
    package init(user: String) {
        self.user = UserLabel(user, isClaimed: true)
    }

    /// Whether the token has ended. `time`: in microseconds since 1970-01-01 UTC.
    func isExpired(at time: Int64) -> Bool { self.expires.map { $0 <= time } ?? false }

    package var scope: AuthorisationScope { self.confinement.map { .subtree($0) } ?? .everything }

    var requestsInFlightMax: Int {
        let max = self.isNode ? Limits.peerRequestsInFlightMax : Limits.requestsInFlightPerConnectionMax
        return TokenLimits.smaller(self.limits.requestsInFlight, max)
    }
    var transfersMax: Int { self.isNode ? Limits.peerTransfersMax : Limits.transfersPerConnectionMax }
    var subscriptionsMax: Int { TokenLimits.smaller(self.limits.subscriptions, Limits.subscriptionsPerConnectionMax) }
}

/// Decides whether a client may log in. The event loops check tokens here, so that a login attempt costs the engine
/// nothing.
package final class AccessTable: Sendable {
    /// When a client needs a token.
    package enum Policy: Sendable {
        /// Always.
        case required
        /// If the store has at least one token.
        case ifTokens
        /// Never. But a token that a client presents must be valid.
        case open
    }

    package enum Decision: Sendable {
        case granted(Access)
        /// The token is missing or wrong; the client does not learn which. The penalty is `nil` when the client
        /// presented no token, because that is not a guess.
        case refused(LoginPenalties.Penalty?)
        /// The secret is right, and the token has expired. The penalty limits what such attempts log and cost.
        case expired(LoginPenalties.Penalty)
        /// The token is valid, but already has its maximum number of connections.
        case full
    }

    private struct State {
        var tokens: [UInt64: Store.Token] = [:]
        var connections: [UInt64: Int] = [:]
        var penalties = LoginPenalties()
    }

    private let policy: Policy
    private let state: NIOLockedValueBox<State>

    package init(_ policy: Policy, _ tokens: [Store.Token] = []) {
        self.policy = policy
        let byNumber = Dictionary(uniqueKeysWithValues: tokens.map { ($0.description.number, $0) })
        self.state = NIOLockedValueBox(State(tokens: byNumber))
    }

    package func take(_ change: TokenChange) {
        self.state.withLockedValue { state in
            switch change {
            case .created(let token): state.tokens[token.description.number] = token
            case .revoked(let number): state.tokens[number] = nil
            }
        }
    }

    package var tokenCount: Int { self.state.withLockedValue { $0.tokens.count } }

    /// Whether a client without a token is refused.
    package var isTokenRequired: Bool { self.state.withLockedValue { self.isTokenRequired($0) } }

    private func isTokenRequired(_ state: State) -> Bool {
        switch self.policy {
        case .required: true
        case .ifTokens: !state.tokens.isEmpty
        case .open: false
        }
    }

    /// Checks the token of a HELLO. A connection that is granted access counts until `left`. `user`: who a client
    /// without a token says it is. `time`: in microseconds since 1970-01-01 UTC.
    package func authenticate(
        _ token: AccessToken?,
        user: String = "",
        from address: String,
        now: NIODeadline,
        time: Int64
    ) -> Decision {
        let hash = token?.secret.sha256
        return self.state.withLockedValue { state in
            guard let token, let hash else {
                return self.isTokenRequired(state) ? .refused(nil) : .granted(Access(user: user))
            }
            // Also compare when the token does not exist, so that the check takes the same time.
            let known = state.tokens[token.number]
            let expected = known?.secretHash ?? Self.unknownHash
            guard hash.isEqualInConstantTime(to: expected), let known else {
                return .refused(state.penalties.failed(address, now: now))
            }
            let description = known.description
            guard !description.grant.isExpired(at: time) else {
                return .expired(state.penalties.failed(address, now: now))
            }
            let count = state.connections[description.number, default: 0]
            let max = description.grant.limits.connections
            guard max == 0 || count < max else { return .full }
            state.connections[description.number] = count + 1
            return .granted(Access(description))
        }
    }

    /// The hash of a random secret, which no token has.
    private static let unknownHash = TokenSecret.random().sha256

    /// Returns the access of a client of another node, which has checked the client's secret. `token`: its number; 0:
    /// the client has none. `user`: who a client without a token says it is. Returns `nil` if the client may not log in
    /// here.
    package func access(ofToken token: UInt64, user: String = "") -> Access? {
        self.state.withLockedValue { state in
            guard token != 0 else { return self.isTokenRequired(state) ? nil : Access(user: user) }
            return state.tokens[token].map { Access($0.description) }
        }
    }

    /// Records a wrong secret of a node.
    package func failed(from address: String, now: NIODeadline) -> LoginPenalties.Penalty {
        self.state.withLockedValue { $0.penalties.failed(address, now: now) }
    }

    /// Stops counting a connection that was granted access.
    package func left(_ access: Access) {
        guard let token = access.token else { return }
        self.state.withLockedValue { state in
            let count = state.connections[token, default: 1] - 1
            state.connections[token] = count > 0 ? count : nil
        }
    }
}
