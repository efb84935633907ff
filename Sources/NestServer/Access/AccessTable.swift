import NIOConcurrencyHelpers
import NIOCore
import NestEngine
import NestModel
import NestSecrets
import NestStore
import NestProtocol

/// What a connection may do.
package struct Access: Sendable {
    /// The token that it logged in with.
    package var token: UInt64?
    package var role = AccessRole.admin
    package var confinement: AccessConfinement?
    package var limits = TokenLimits()

    package init() {}

    package init(_ token: TokenDescription) {
        self.token = token.number
        self.role = token.grant.role
        self.confinement = token.grant.confinement
        self.limits = token.grant.limits
    }

    package var scope: AuthorisationScope { self.confinement.map { .subtree($0) } ?? .everything }

    var requestsInFlightMax: Int {
        TokenLimits.smaller(self.limits.requestsInFlight, Limits.requestsInFlightPerConnectionMax)
    }
    var subscriptionsMax: Int { TokenLimits.smaller(self.limits.subscriptions, Limits.subscriptionsPerConnectionMax) }
}

/// Decides who may connect. The event loops have the tokens here, so that a login attempt costs the engine nothing.
package final class AccessTable: Sendable {
    /// When a client needs a token.
    package enum Policy: Sendable {
        /// Always.
        case required
        /// As soon as there is one.
        case ifTokens
        /// Never; but a token that is presented must be valid.
        case open
    }

    package enum Judgement: Sendable {
        case granted(Access)
        /// The same whatever was wrong. The penalty is `nil` when no token was presented: that is no guess.
        case refused(LoginPenalties.Penalty?)
        /// The token is valid, but has as many connections as it may.
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

    /// Judges the token of a HELLO. A connection that is granted access counts until `left`.
    package func judge(_ token: AccessToken?, from address: String, now: NIODeadline) -> Judgement {
        let hash = token?.secret.sha256
        return self.state.withLockedValue { state in
            guard let token, let hash else { return self.isTokenRequired(state) ? .refused(nil) : .granted(Access()) }
            // A token that does not exist is compared too, so that the answer takes as long.
            let known = state.tokens[token.number]
            let expected = known?.secretHash ?? Self.unknownHash
            guard hash.isEqualInConstantTime(to: expected), let known else {
                return .refused(state.penalties.failed(address, now: now))
            }
            let description = known.description
            let count = state.connections[description.number, default: 0]
            let max = description.grant.limits.connections
            guard max == 0 || count < max else { return .full }
            state.connections[description.number] = count + 1
            return .granted(Access(description))
        }
    }

    /// The hash of a secret that nobody knows.
    private static let unknownHash = TokenSecret.random().sha256

    /// A connection that was granted access is gone.
    package func left(_ access: Access) {
        guard let token = access.token else { return }
        self.state.withLockedValue { state in
            let count = state.connections[token, default: 1] - 1
            state.connections[token] = count > 0 ? count : nil
        }
    }
}
