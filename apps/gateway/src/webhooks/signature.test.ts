import { webhookHeaders } from './signature.js';

// The example of the specification of Standard Webhooks.
const event = { eventId: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1_614_265_330, body: '{"test": 2432232314}' };
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';

describe('webhookHeaders', () => {
  test('a delivery is signed as Standard Webhooks says', () => {
    expect(webhookHeaders(event, [SECRET])).toEqual({
      'webhook-id': event.eventId,
      'webhook-timestamp': '1614265330',
      'webhook-signature': SIGNATURE,
    });
  });

  test('while secrets change there is a signature of each', () => {
    const signatures = webhookHeaders(event, ['another-secret-of-16', SECRET])['webhook-signature']?.split(' ');

    expect(signatures).toHaveLength(2);
    expect(signatures?.[1]).toBe(SIGNATURE);
  });

  test('without a secret there is no signature', () => {
    expect(webhookHeaders(event, [])).not.toHaveProperty('webhook-signature');
  });
});
