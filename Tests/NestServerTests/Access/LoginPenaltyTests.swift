import NIOCore
import NestEngine
import NestModel
import NestSecrets
import NestServer
import NestStore
import Testing
import NestProtocol

/// The delays after wrong tokens. The tests pass the time as a value and do not wait.
@Suite struct LoginPenaltyTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private func table() -> (AccessTable, AccessToken) {
        let secret = TokenSecret.random()
        let description = TokenDescription(number: 7, grant: TokenGrant(name: "t", role: .read), created: 0)
        let table = AccessTable(.required, [Store.Token(description: description, secretHash: secret.sha256)])
        return (table, AccessToken(number: 7, secret: secret))
    }

    @Test func eachWrongTokenOfAnAddressDelaysTheNext() {
        var penalties = LoginPenalties()
        let delays = (0..<9).map { _ in penalties.failed("a", now: self.start).delay.nanoseconds / 1_000_000 }
        #expect(delays == [100, 200, 400, 800, 1_600, 3_200, 4_000, 4_000, 4_000])
        #expect(penalties.failed("b", now: self.start).delay == .milliseconds(100))
        let later = self.start + .seconds(Int64(Limits.loginMemorySeconds) + 1)
        #expect(penalties.failed("a", now: later).delay == .milliseconds(100))
    }

    /// During a hundred thousand guesses from one address, each guess is delayed and the valid token is never refused.
    @Test func goodTokensAreAcceptedDuringManyGuesses() {
        let (table, good) = self.table()
        var delays: [TimeAmount] = []
        var grantedCount = 0
        for number in 0..<100_000 {
            let guess = AccessToken(number: UInt64(number % 9), secret: TokenSecret.random())
            if case .refused(let penalty?) = table.authenticate(guess, from: "a", now: self.start, time: 0) {
                delays.append(penalty.delay)
            }
            guard number.isMultiple(of: 1_000) else { continue }
            if case .granted(let access) = table.authenticate(good, from: "a", now: self.start, time: 0),
                access.role == .read
            {
                grantedCount += 1
                table.left(access)
            }
        }
        #expect(delays.count == 100_000 && grantedCount == 100)
        #expect(delays.dropFirst(6).allSatisfy { $0 == .milliseconds(Int64(Limits.loginDelayMillisecondsMax)) })
    }

    /// Endless logins with an expired token neither fill the log nor come for nothing; a wrong secret of it is a guess
    /// like any.
    @Test func expiredTokensAreDelayedAndLoggedLikeWrongOnes() {
        let secret = TokenSecret.random()
        let grant = TokenGrant(name: "t", role: .read, expires: 100)
        let description = TokenDescription(number: 7, grant: grant, created: 0)
        let table = AccessTable(.required, [Store.Token(description: description, secretHash: secret.sha256)])
        let token = AccessToken(number: 7, secret: secret)
        guard case .granted(let access) = table.authenticate(token, from: "a", now: self.start, time: 99) else {
            Issue.record("refused before its expiry")
            return
        }
        #expect(access.expires == 100)
        var logged: [Bool] = []
        var delays: [Int64] = []
        for _ in 0..<3 {
            guard case .expired(let penalty) = table.authenticate(token, from: "a", now: self.start, time: 100) else {
                Issue.record("not refused at its expiry")
                return
            }
            logged.append(penalty.isLogged)
            delays.append(penalty.delay.nanoseconds / 1_000_000)
        }
        #expect(logged == [true, false, false] && delays == [100, 200, 400])
        let wrong = AccessToken(number: 7, secret: TokenSecret.random())
        guard case .refused = table.authenticate(wrong, from: "b", now: self.start, time: 100) else {
            Issue.record("a wrong secret learns of the expiry")
            return
        }
    }

    /// Endless guesses do not fill the log.
    @Test func oneGuessPerAddressAndDelayIsLogged() {
        var penalties = LoginPenalties()
        var lines: [Int64] = []
        for millisecond in 0..<20_000 as Range<Int64> {
            let now = self.start + .milliseconds(millisecond)
            if penalties.failed("a", now: now).isLogged { lines.append(millisecond) }
        }
        #expect(lines == [0, 100, 4_100, 8_100, 12_100, 16_100])
        #expect(penalties.failed("b", now: self.start).isLogged)
    }

    @Test func addressesAreForgotten() {
        var penalties = LoginPenalties()
        for number in 0..<Limits.loginAddressesMax + 500 {
            _ = penalties.failed("\(number)", now: self.start + .nanoseconds(Int64(number)))
        }
        #expect(penalties.count == Limits.loginAddressesMax)
    }

    @Test func anIPv6AddressIsKeyedByItsPrefix() throws {
        func key(_ text: String) throws -> String {
            LoginPenalties.key(try SocketAddress(ipAddress: text, port: 1))
        }
        #expect(try key("2001:db8:1:2::5") == key("2001:db8:1:2:ffff::1"))
        #expect(try key("2001:db8:1:2::5") != key("2001:db8:1:3::5"))
        #expect(try key("::ffff:10.0.0.1") != key("::ffff:10.0.0.2"))
        #expect(try key("10.0.0.1") != key("10.0.0.2"))
    }

    @Test func tokenComparisonUsesAllBits() {
        let secret = TokenSecret.random()
        #expect(secret.isEqualInConstantTime(to: secret))
        for bit in 0..<64 {
            let high = Identifier128(high: secret.high.high ^ 1 << bit, low: secret.high.low)
            let low = Identifier128(high: secret.low.high, low: secret.low.low ^ 1 << bit)
            #expect(!TokenSecret(high: high, low: secret.low).isEqualInConstantTime(to: secret))
            #expect(!TokenSecret(high: secret.high, low: low).isEqualInConstantTime(to: secret))
        }
    }

    /// The example of FIPS 180-4 has another length; this is the output of `sha256sum` for the 32 bytes 0 to 31.
    @Test func theHashIsSHA256() {
        let secret = TokenSecret(
            high: Identifier128(high: 0x0001_0203_0405_0607, low: 0x0809_0a0b_0c0d_0e0f),
            low: Identifier128(high: 0x1011_1213_1415_1617, low: 0x1819_1a1b_1c1d_1e1f)
        )
        let hash = secret.sha256
        #expect(
            hash.high.hex + hash.low.hex == "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd"
        )
    }

    @Test func tokenTextRoundTrips() {
        let token = AccessToken(number: 7, secret: TokenSecret.random())
        #expect(AccessToken(text: " \(token.text)\n") == token)
        let digits = token.secret.high.hex
        for text in [
            "", "nest_7", "nest_7_\(digits)", "nest_0_\(digits)\(digits)", "nest_7_\(digits)\(digits)0",
            "\(token.text) x", "nest_-7_\(digits)\(digits)", "nest_7_\(digits)-\(digits.dropLast())",
        ] {
            #expect(AccessToken(text: text) == nil, "\(text)")
        }
    }
}
